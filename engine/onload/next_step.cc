#include "engine/onload/next_step.h"

#include <algorithm>
#include <array>

#include "engine/onload/enum_names.h"
#include "engine/onload/interface_spec.h"
#include "hw/onload/parameter_text.h"

namespace nrd::onload {
namespace {

// From the top. Those of releases long gone are among them, because a node may still run one.
constexpr std::array kFromTheTop = {"onload",       "af_onload", "onload_cplane",  "sfc_char",    "sfc_resource",
                                    "sfc_affinity", "sfc_tune",  "sfc_aoe",        "sfc_control", "sfc_mtd",
                                    "sfc_ef100",    "sfc",       "sfc_driverlink", "virtual_bus"};

const TargetModule* find(const Target& target, const std::string& module) {
  const auto found = std::ranges::find(target.modules, module, &TargetModule::name);
  return found == target.modules.end() ? nullptr : &*found;
}

// Not nullptr: a parameter that is wrong. Writable ones can be set while the module is loaded.
const std::string* wrong_parameter(const TargetModule& wanted, const Module& loaded, bool writable) {
  for (const auto& [name, value] : wanted.parameters) {
    const auto shown = loaded.parameters.find(name);
    if (shown == loaded.parameters.end() || shown->second.writable != writable || !shown->second.value) continue;
    if (!says_same(value, *shown->second.value)) return &name;
  }
  return nullptr;
}

// What is loaded cannot stay.
bool is_wrong(const Target& target, const Module& loaded, const RunState& run_state) {
  if (is_of_driver(loaded.name) && target.sfc == Sfc::External) {
    // Without a build id it cannot be told whose it is, and so it stays.
    return target.undone_driver && !run_state.has_systems_driver && !loaded.build_id.empty() &&
           std::ranges::find(*target.undone_driver, loaded.build_id) != target.undone_driver->end();
  }
  const TargetModule* wanted = find(target, loaded.name);
  if (wanted == nullptr) return true;
  return wanted->build_id != loaded.build_id || wrong_parameter(*wanted, loaded, false) != nullptr;
}

std::optional<NextStep> next_removal(const Target& target, const Seen& seen, const RunState& run_state) {
  const std::vector<std::string> modules = removals(target, seen, run_state);
  if (modules.empty()) return std::nullopt;
  if (!run_state.door_closed) return NextStep{Act::CloseDoor, {}, {}};
  if (!run_state.users_ended) return NextStep{Act::EndUsers, {}, {}};
  if (!seen.servers.empty()) return NextStep{Act::StopControlPlane, {}, {}};
  return NextStep{Act::Remove, modules.front(), {}};
}

enum class Nodes { Shut, Open };
bool any(const Seen& seen, Nodes what) {
  return std::ranges::any_of(seen.devices, [what](const DeviceNode& device) {
    return device.leads_to_device() && (device.node->access.mode == 0) == (what == Nodes::Shut);
  });
}

std::optional<NextStep> next_insertion(const Target& target, const Seen& seen) {
  if (seen.current != target.version) return NextStep{Act::Switch, target.version, {}};
  for (const TargetModule& module : target.modules) {
    if (!seen.modules.contains(module.name)) return NextStep{Act::Insert, module.name, {}};
  }
  for (const TargetModule& module : target.modules) {
    const std::string* name = wrong_parameter(module, seen.modules.at(module.name), true);
    if (name != nullptr) return NextStep{Act::SetParameter, module.name + "." + *name, module.parameters.at(*name)};
  }
  for (const InterfaceChange& change : changes_for(target.interfaces, seen.interfaces)) {
    return NextStep{Act::Configure, subject_of(change.interface, change.what), std::string(word_of(change.to))};
  }
  return std::nullopt;
}

}  // namespace

void remember(RunState& run_state, const NextStep& step) {
  switch (step.act) {
    case Act::CloseDoor:
      run_state.door_closed = true;
      run_state.door_to_open = true;
      return;
    case Act::OpenDoor:
      run_state.door_closed = false;
      run_state.door_to_open = false;
      run_state.users_ended = false;
      return;
    case Act::EndUsers: run_state.users_ended = true; return;
    case Act::Verify: run_state.verified = true; return;
    case Act::Insert:
      // Its device nodes are new: open to all, and without the owner they should have.
      run_state.door_closed = false;
      run_state.door_to_open = true;
      run_state.users_ended = false;
      run_state.verified = false;
      if (step.value == kOfSystem) run_state.has_systems_driver = true;
      return;
    case Act::StopControlPlane: run_state.server_stopped = true; return;
    case Act::Remove:
    case Act::Switch:
    case Act::SetParameter:
    case Act::Configure: run_state.verified = false; return;
  }
}

std::vector<std::string> removals(const Target& target, const Seen& seen, const RunState& run_state) {
  if (target.state == State::Unmanaged) return {};
  std::vector<std::string> modules;
  size_t needed = 0;  // so many of them, counted from the top
  for (const char* name : kFromTheTop) {
    const auto loaded = seen.modules.find(name);
    if (loaded == seen.modules.end()) continue;
    modules.emplace_back(name);
    if (is_wrong(target, loaded->second, run_state)) needed = modules.size();
  }
  modules.resize(needed);
  return modules;
}

std::optional<NextStep> next_step(const Target& target, const Seen& seen, const RunState& run_state) {
  if (const auto removal = next_removal(target, seen, run_state)) return removal;
  const bool is_loaded = target.state == State::Loaded;
  if (is_loaded && target.restarts_server && !run_state.server_stopped) {
    // A stack that comes while there is no server gets none.
    return NextStep{run_state.door_closed ? Act::StopControlPlane : Act::CloseDoor, {}, {}};
  }
  if (target.undone_driver && !seen.modules.contains("sfc"))
    return NextStep{Act::Insert, "sfc", std::string(kOfSystem)};
  if (is_loaded) {
    if (const auto insertion = next_insertion(target, seen)) return insertion;
  }
  // Before the verification, which takes a while: the nodes of a module that was inserted are open.
  if (target.device_access == DeviceAccess::Shut && any(seen, Nodes::Open)) return NextStep{Act::CloseDoor, {}, {}};
  if (target.ends_users && !run_state.users_ended) return NextStep{Act::EndUsers, {}, {}};
  if (is_loaded && !run_state.verified) return NextStep{Act::Verify, {}, {}};
  // Shut also by an operation before this one, which failed.
  const bool is_to_open = run_state.door_to_open || any(seen, Nodes::Shut);
  return target.device_access == DeviceAccess::Open && is_to_open ? std::optional(NextStep{Act::OpenDoor, {}, {}})
                                                                  : std::nullopt;
}

}  // namespace nrd::onload
