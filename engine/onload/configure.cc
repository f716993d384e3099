// Applies settings outside of operations: of single interfaces on request, at nrd's start and when they appear, of the
// device nodes at its start.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/find_in.h"
#include "base/log.h"
#include "engine/onload/interface_spec.h"
#include "engine/onload/operation_planner.h"
#include "engine/onload/preconditions.h"
#include "engine/onload/rollback_plan.h"

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
    return fail(
        ErrorCode::Conflict,
        fmt::format("network interface {} has no acceleration setting: Onload does not support it", interface.name));
  }
  return *interface.accelerated == wants ? std::nullopt : std::optional(to);
}

// Not another one at the same place, or the same one after its driver was loaded again.
bool is_same_device(const Interface& one, const Interface& other) {
  return one.index == other.index && one.pci == other.pci && one.mac == other.mac;
}

void log_not_set(const std::string& interface, const Error& error) {
  log::warning("ONLOAD_INTERFACE_NOT_SET", error.message, {{"INTERFACE", interface}, {"DETAIL", error.detail}});
}

}  // namespace

// Writes to the node, then stores, so a success means both. While Onload is not loaded, it only stores. The status must
// be current; its specs are updated. Conflict: the module keeps the interface until it is reloaded; the request is
// stored anyway.
Result<void> OperationPlanner::apply_switch(const Interface& interface, InterfaceSwitch what, SwitchState to) {
  InterfaceSpec spec = TRY(spec_for(status_, interface));
  (what == InterfaceSwitch::Afxdp ? spec.registered : spec.accelerated) = to == SwitchState::On;
  const std::optional<SwitchState> change = TRY(what_to_write(status_.observed, interface, what, to));

  const Result<void> set = change ? node_.set_interface(interface.name, what, *change) : Result<void>();
  const bool stays = !set && set.error().code == ErrorCode::Busy && to == SwitchState::Off;
  if (!set && !stays) return set;
  if (Result<void> stored = commit_({.interfaces = {spec}}); !stored) {
    // Undo the setting if it could not be stored.
    const SwitchState back = to == SwitchState::On ? SwitchState::Off : SwitchState::On;
    if (change && set) {
      if (const Result<void> undone = node_.set_interface(interface.name, what, back); !undone) {
        log_not_set(interface.name, undone.error());
      }
    }
    return stored;
  }
  InterfaceSpec* same = first_if(
      status_.interfaces, [&](const InterfaceSpec& other) { return other.pci == spec.pci && other.mac == spec.mac; });
  same ? void(*same = spec) : status_.interfaces.push_back(spec);
  if (!stays) return {};
  return fail(ErrorCode::Conflict,
              fmt::format("Onload keeps network interface {} until its modules are reloaded: unload and load Onload to "
                          "unregister the interface",
                          interface.name),
              set.error().detail);
}

Result<Interface> OperationPlanner::set_interface(const std::string& name, InterfaceSwitch what, SwitchState to) {
  TRY(check_changeable(status_));
  refresh();
  if (!status_.problem.empty()) return fail(ErrorCode::Hardware, status_.problem);
  const Interface* found = first_with(status_.observed.interfaces, &Interface::name, name);
  if (!found) return fail(ErrorCode::NotFound, fmt::format("network interface {} not found", name));
  const Interface before = *found;
  const Result<void> set = apply_switch(before, what, to);
  refresh();
  if (!set) return Failure(set.error());
  const std::vector<Interface> now = TRY(node_.interfaces());
  const Interface* after = first_with(now, &Interface::name, name);
  return after ? *after : before;
}

// Reverts interface settings changed while nrd was stopped; changes after that count as drift.
void OperationPlanner::configure_after_start() {
  if (options_.at_start == AtStart::Observe) configured_ = status_.observed.interfaces;
  configure_new();
}

// An interface that appears later, as at boot when its driver is slow, has the module's settings: no program has
// changed those that are stored. Of each interface only once; a refusal is drift.
void OperationPlanner::configure_new() {
  if (status_.freeze.frozen || !status_.problem.empty() || running(status_) != nullptr) return;
  const std::vector<Interface> before = std::exchange(configured_, status_.observed.interfaces);
  if (!knows_interfaces(status_.observed)) return;
  bool has_changed = false;
  for (const auto& [name, what, to] : changes_for(status_.interfaces, status_.observed.interfaces)) {
    const Interface* changed = first_with(status_.observed.interfaces, &Interface::name, name);
    if (std::ranges::any_of(before, [changed](const Interface& known) { return is_same_device(known, *changed); }))
      continue;
    const Result<void> set = node_.set_interface(name, what, to);
    if (!set) log_not_set(name, set.error());
    has_changed = true;
  }
  if (has_changed) observe();
}

// Owner and mode that the configuration has now: the nodes are open with those of an earlier one. Nodes that are
// closed, or not those of the devices, are drift or a fault.
void OperationPlanner::admit_after_start() {
  if (status_.freeze.frozen || !status_.problem.empty() || running(status_) != nullptr || last_failed(status_)) return;
  const std::optional<Result<Target>> target = target_in_force(node_, status_);
  const bool is_open = target && *target && (*target)->state == State::Loaded &&
                       (*target)->device_access == DeviceAccess::Open && drift_of(**target, status_.observed).empty();
  if (!is_open || !wrong_device(status_.observed.devices).empty()) return;
  if (wrong_device(status_.observed.devices, (*target)->devices).empty()) return;
  (void)node_.open_device_access();  // it logs its failure, and the condition DevicesReady shows the nodes
  observe();
}

}  // namespace nrd::onload
