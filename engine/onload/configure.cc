#include "engine/onload/configure.h"

#include <algorithm>

#include "base/log.h"
#include "engine/onload/interface_spec.h"
#include "engine/onload/record.h"

namespace nrd::onload {
namespace {

constexpr size_t kMostWishes = 256;

// Onload's modules know interfaces.
bool knows_interfaces(const Seen& seen) { return seen.modules.contains("sfc_resource"); }

Result<InterfaceSpec> spec_for(const Status& status, const Interface& interface) {
  const auto& interfaces = status.seen.interfaces;
  if (const InterfaceSpec* known = find(status.interfaces, interface, interfaces)) return *known;
  if (status.interfaces.size() >= kMostWishes) {
    return fail(ErrorCode::Conflict, "something is wanted of 256 interfaces already, which is the most");
  }
  return known_by(interface, interfaces);
}

// nullopt: it is so, or the module is not there that would take it.
Result<std::optional<Turned>> what_to_write(const Seen& seen, const Interface& interface, InterfaceSwitch what,
                                            Turned to) {
  if (!knows_interfaces(seen)) return std::nullopt;
  const bool wants = to == Turned::On;
  if (what == InterfaceSwitch::Afxdp) return interface.afxdp == wants ? std::nullopt : std::optional(to);
  if (!interface.accelerated) {
    return fail(ErrorCode::Conflict,
                "network interface " + interface.name + " has no switch for acceleration: Onload does not serve it");
  }
  return *interface.accelerated == wants ? std::nullopt : std::optional(to);
}

void log_not_set(const std::string& interface, const Error& error) {
  log::warning("ONLOAD_INTERFACE_NOT_SET", error.message, {{"INTERFACE", interface}, {"DETAIL", error.detail}});
}

}  // namespace

Result<void> set_interface(Host& node, Status& status, const std::function<Result<void>(store::OnloadChange)>& commit,
                           const Interface& interface, InterfaceSwitch what, Turned to) {
  Result<InterfaceSpec> spec = spec_for(status, interface);
  if (!spec) return Failure(spec.error());
  (what == InterfaceSwitch::Afxdp ? spec->registered : spec->accelerated) = to == Turned::On;
  const Result<std::optional<Turned>> change = what_to_write(status.seen, interface, what, to);
  if (!change) return Failure(change.error());

  const Result<void> set = *change ? node.set_interface(interface.name, what, **change) : Result<void>();
  const bool stays = !set && set.error().code == ErrorCode::Busy && to == Turned::Off;
  if (!set && !stays) return set;
  if (Result<void> stored = commit({.interfaces = {to_record(*spec)}}); !stored) {
    // What is not stored is not so.
    const Turned back = to == Turned::On ? Turned::Off : Turned::On;
    if (*change && set) {
      if (const Result<void> undone = node.set_interface(interface.name, what, back); !undone) {
        log_not_set(interface.name, undone.error());
      }
    }
    return stored;
  }
  const auto same = std::ranges::find_if(
      status.interfaces, [&](const InterfaceSpec& other) { return other.pci == spec->pci && other.mac == spec->mac; });
  same == status.interfaces.end() ? status.interfaces.push_back(*spec) : void(*same = *spec);
  if (!stays) return {};
  return fail(ErrorCode::Conflict,
              "Onload keeps network interface " + interface.name +
                  " until its modules are loaded anew: unload Onload and load it again; then it is not registered",
              set.error().detail);
}

void set_interfaces(Host& node, const Status& status) {
  if (!knows_interfaces(status.seen)) return;
  for (const auto& [interface, what, to] : changes_for(status.interfaces, status.seen.interfaces)) {
    const Result<void> set = node.set_interface(interface, what, to);
    if (!set) log_not_set(interface, set.error());
  }
}

}  // namespace nrd::onload
