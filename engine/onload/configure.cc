#include "engine/onload/configure.h"

#include <algorithm>

#include "base/log.h"
#include "engine/onload/interface_spec.h"

namespace nrd::onload {
namespace {

constexpr size_t kMaxInterfaceSpecs = 256;

// True if the loaded modules keep settings per interface.
bool knows_interfaces(const ObservedState& observed) { return observed.modules.contains("sfc_resource"); }

Result<InterfaceSpec> spec_for(const Status& status, const Interface& interface) {
  const auto& interfaces = status.observed.interfaces;
  if (const InterfaceSpec* known = find(status.interfaces, interface, interfaces)) return *known;
  if (status.interfaces.size() >= kMaxInterfaceSpecs) {
    return fail(ErrorCode::Conflict, "settings for 256 interfaces exist already (the maximum)");
  }
  return known_by(interface, interfaces);
}

// nullopt: already set, or no module is loaded to take it.
Result<std::optional<SwitchState>> what_to_write(const ObservedState& observed, const Interface& interface,
                                                 InterfaceSwitch what, SwitchState to) {
  if (!knows_interfaces(observed)) return std::nullopt;
  const bool wants = to == SwitchState::On;
  if (what == InterfaceSwitch::Afxdp) return interface.afxdp == wants ? std::nullopt : std::optional(to);
  if (!interface.accelerated) {
    return fail(ErrorCode::Conflict,
                "network interface " + interface.name + " has no acceleration setting: Onload does not support it");
  }
  return *interface.accelerated == wants ? std::nullopt : std::optional(to);
}

void log_not_set(const std::string& interface, const Error& error) {
  log::warning("ONLOAD_INTERFACE_NOT_SET", error.message, {{"INTERFACE", interface}, {"DETAIL", error.detail}});
}

}  // namespace

Result<void> set_interface(Host& node, Status& status, const CommitFn& commit, const Interface& interface,
                           InterfaceSwitch what, SwitchState to) {
  InterfaceSpec spec = TRY(spec_for(status, interface));
  (what == InterfaceSwitch::Afxdp ? spec.registered : spec.accelerated) = to == SwitchState::On;
  const std::optional<SwitchState> change = TRY(what_to_write(status.observed, interface, what, to));

  const Result<void> set = change ? node.set_interface(interface.name, what, *change) : Result<void>();
  const bool stays = !set && set.error().code == ErrorCode::Busy && to == SwitchState::Off;
  if (!set && !stays) return set;
  if (Result<void> stored = commit({.interfaces = {spec}}); !stored) {
    // Undo the setting if it could not be stored.
    const SwitchState back = to == SwitchState::On ? SwitchState::Off : SwitchState::On;
    if (change && set) {
      if (const Result<void> undone = node.set_interface(interface.name, what, back); !undone) {
        log_not_set(interface.name, undone.error());
      }
    }
    return stored;
  }
  const auto same = std::ranges::find_if(
      status.interfaces, [&](const InterfaceSpec& other) { return other.pci == spec.pci && other.mac == spec.mac; });
  same == status.interfaces.end() ? status.interfaces.push_back(spec) : void(*same = spec);
  if (!stays) return {};
  return fail(ErrorCode::Conflict,
              "Onload keeps network interface " + interface.name +
                  " until its modules are reloaded: unload and load Onload to unregister the interface",
              set.error().detail);
}

void set_interfaces(Host& node, const Status& status) {
  if (!knows_interfaces(status.observed)) return;
  for (const auto& [interface, what, to] : changes_for(status.interfaces, status.observed.interfaces)) {
    const Result<void> set = node.set_interface(interface, what, to);
    if (!set) log_not_set(interface, set.error());
  }
}

}  // namespace nrd::onload
