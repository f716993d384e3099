#include "engine/onload/next_step.h"

#include <algorithm>
#include <array>

#include "base/find_in.h"
#include "engine/onload/enum_names.h"
#include "engine/onload/interface_spec.h"
#include "hw/onload/parameter_text.h"

namespace nrd::onload {
namespace {

// Unload order, users first. Includes modules of old releases, because a node may still run one.
constexpr std::array kUnloadOrder = {"onload",       "af_onload", "onload_cplane",  "sfc_char",    "sfc_resource",
                                     "sfc_affinity", "sfc_tune",  "sfc_aoe",        "sfc_control", "sfc_mtd",
                                     "sfc_ef100",    "sfc",       "sfc_driverlink", "virtual_bus"};

// The first parameter whose value differs; nullptr: none. Only writable parameters can be set while the module is
// loaded.
const std::string* wrong_parameter(const TargetModule& wanted, const Module& loaded, bool writable) {
  for (const auto& [name, value] : wanted.parameters) {
    const auto* shown = find_in(loaded.parameters, name);
    if (!shown || shown->writable != writable || !shown->value) continue;
    if (!says_same(value, *shown->value)) return &name;
  }
  return nullptr;
}

// True if a loaded module must be removed.
bool is_wrong(const Target& target, const Module& loaded, const RunState& run_state) {
  if (is_of_driver(loaded.name) && target.sfc == Sfc::External) {
    // Without a build id its origin is unknown, so keep it.
    return target.reverted_driver && !run_state.has_system_driver && !loaded.build_id.empty() &&
           std::ranges::find(*target.reverted_driver, loaded.build_id) != target.reverted_driver->end();
  }
  const TargetModule* wanted = find_module(target, loaded.name);
  if (wanted == nullptr) return true;
  return wanted->build_id != loaded.build_id || wrong_parameter(*wanted, loaded, false) != nullptr;
}

std::optional<NextStep> next_removal(const Target& target, const ObservedState& observed, const RunState& run_state) {
  const std::vector<std::string> modules = removals(target, observed, run_state);
  if (modules.empty()) return std::nullopt;
  if (!run_state.access_closed) return NextStep{Act::CloseDeviceAccess, {}, {}};
  if (!run_state.users_ended) return NextStep{Act::EndUsers, {}, {}};
  if (!observed.servers.empty()) return NextStep{Act::StopControlPlane, {}, {}};
  return NextStep{Act::Remove, modules.front(), {}};
}

enum class Nodes { Closed, Open };
bool any(const ObservedState& observed, Nodes what) {
  return std::ranges::any_of(observed.devices, [what](const DeviceNode& device) {
    return device.leads_to_device() && (device.node->access.mode == 0) == (what == Nodes::Closed);
  });
}

std::optional<NextStep> next_insertion(const Target& target, const ObservedState& observed) {
  if (observed.current != target.version) return NextStep{Act::Switch, target.version, {}};
  for (const TargetModule& module : target.modules) {
    if (!observed.modules.contains(module.name)) return NextStep{Act::Insert, module.name, {}};
  }
  for (const TargetModule& module : target.modules) {
    const std::string* name = wrong_parameter(module, observed.modules.at(module.name), true);
    if (name != nullptr) return NextStep{Act::SetParameter, module.name + "." + *name, module.parameters.at(*name)};
  }
  for (const InterfaceChange& change : changes_for(target.interfaces, observed.interfaces)) {
    return NextStep{Act::Configure, subject_of(change.interface, change.what), std::string(json::name_of(change.to))};
  }
  return std::nullopt;
}

}  // namespace

void remember(RunState& run_state, const NextStep& step) {
  switch (step.act) {
    case Act::CloseDeviceAccess:
      run_state.access_closed = true;
      run_state.access_to_open = true;
      return;
    case Act::OpenDeviceAccess:
      run_state.access_closed = false;
      run_state.access_to_open = false;
      run_state.users_ended = false;
      return;
    case Act::EndUsers: run_state.users_ended = true; return;
    case Act::Verify: run_state.verified = true; return;
    case Act::Insert:
      // The device nodes are new: accessible to all, and not yet with the configured owner.
      run_state.access_closed = false;
      run_state.access_to_open = true;
      run_state.users_ended = false;
      run_state.verified = false;
      if (step.value == kSystemDriver) run_state.has_system_driver = true;
      return;
    case Act::StopControlPlane: run_state.server_stopped = true; return;
    case Act::Remove:
    case Act::Switch:
    case Act::SetParameter:
    case Act::Configure: run_state.verified = false; return;
  }
}

std::vector<std::string> removals(const Target& target, const ObservedState& observed, const RunState& run_state) {
  if (target.state == State::Unmanaged) return {};
  std::vector<std::string> modules;
  size_t needed = 0;  // number of modules to remove, in unload order
  for (const char* name : kUnloadOrder) {
    const Module* loaded = find_in(observed.modules, name);
    if (loaded == nullptr) continue;
    modules.emplace_back(name);
    if (is_wrong(target, *loaded, run_state)) needed = modules.size();
  }
  modules.resize(needed);
  return modules;
}

std::optional<NextStep> next_step(const Target& target, const ObservedState& observed, const RunState& run_state) {
  if (const auto removal = next_removal(target, observed, run_state)) return removal;
  const bool is_loaded = target.state == State::Loaded;
  if (is_loaded && target.restarts_control_plane && !run_state.server_stopped) {
    // A stack created while no server runs would never get one.
    return NextStep{run_state.access_closed ? Act::StopControlPlane : Act::CloseDeviceAccess, {}, {}};
  }
  if (target.reverted_driver && !observed.modules.contains("sfc"))
    return NextStep{Act::Insert, "sfc", std::string(kSystemDriver)};
  if (is_loaded) {
    if (const auto insertion = next_insertion(target, observed)) return insertion;
  }
  // Close before the verification, which takes a while: the nodes of a newly inserted module are open.
  if (target.device_access == DeviceAccess::Closed && any(observed, Nodes::Open))
    return NextStep{Act::CloseDeviceAccess, {}, {}};
  if (target.ends_users && !run_state.users_ended) return NextStep{Act::EndUsers, {}, {}};
  if (is_loaded && !run_state.verified) return NextStep{Act::Verify, {}, {}};
  // Nodes may be closed by an earlier operation that failed.
  const bool is_to_open = run_state.access_to_open || any(observed, Nodes::Closed);
  return target.device_access == DeviceAccess::Open && is_to_open
             ? std::optional(NextStep{Act::OpenDeviceAccess, {}, {}})
             : std::nullopt;
}

}  // namespace nrd::onload
