#include "engine/onload/stage.h"

#include <algorithm>
#include <array>

#include "engine/onload/interface_wish.h"
#include "engine/onload/words.h"
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
bool is_wrong(const Target& target, const Module& loaded, const Memory& memory) {
  if (is_of_driver(loaded.name) && target.sfc == Sfc::External) {
    // Without a build id it cannot be told whose it is, and so it stays.
    return target.undone_driver && !memory.has_systems_driver && !loaded.build_id.empty() &&
           std::ranges::find(*target.undone_driver, loaded.build_id) != target.undone_driver->end();
  }
  const TargetModule* wanted = find(target, loaded.name);
  if (wanted == nullptr) return true;
  return wanted->build_id != loaded.build_id || wrong_parameter(*wanted, loaded, false) != nullptr;
}

std::optional<Stage> next_removal(const Target& target, const Seen& seen, const Memory& memory) {
  const std::vector<std::string> modules = removals(target, seen, memory);
  if (modules.empty()) return std::nullopt;
  if (!memory.door_closed) return Stage{Act::CloseDoor, {}, {}};
  if (!memory.users_ended) return Stage{Act::EndUsers, {}, {}};
  if (!seen.servers.empty()) return Stage{Act::StopControlPlane, {}, {}};
  return Stage{Act::Remove, modules.front(), {}};
}

enum class Node { Shut, Open };
bool any(const Seen& seen, Node what) {
  return std::ranges::any_of(seen.devices, [what](const DeviceNode& device) {
    return device.leads_to_device() && (device.node->access.mode == 0) == (what == Node::Shut);
  });
}

std::optional<Stage> next_insertion(const Target& target, const Seen& seen) {
  if (seen.current != target.version) return Stage{Act::Switch, target.version, {}};
  for (const TargetModule& module : target.modules) {
    if (!seen.modules.contains(module.name)) return Stage{Act::Insert, module.name, {}};
  }
  for (const TargetModule& module : target.modules) {
    const std::string* name = wrong_parameter(module, seen.modules.at(module.name), true);
    if (name != nullptr) return Stage{Act::SetParameter, module.name + "." + *name, module.parameters.at(*name)};
  }
  for (const InterfaceChange& change : changes_for(target.interfaces, seen.interfaces)) {
    return Stage{Act::Configure, subject_of(change.interface, change.what), std::string(word_of(change.to))};
  }
  return std::nullopt;
}

}  // namespace

void remember(Memory& memory, const Stage& stage) {
  switch (stage.act) {
    case Act::CloseDoor:
      memory.door_closed = true;
      memory.door_to_open = true;
      return;
    case Act::OpenDoor:
      memory.door_closed = false;
      memory.door_to_open = false;
      memory.users_ended = false;
      return;
    case Act::EndUsers: memory.users_ended = true; return;
    case Act::Verify: memory.verified = true; return;
    case Act::Insert:
      // Its device nodes are new: open to all, and without the owner they should have.
      memory.door_closed = false;
      memory.door_to_open = true;
      memory.users_ended = false;
      memory.verified = false;
      if (stage.value == kOfSystem) memory.has_systems_driver = true;
      return;
    case Act::StopControlPlane: memory.server_stopped = true; return;
    case Act::Remove:
    case Act::Switch:
    case Act::SetParameter:
    case Act::Configure: memory.verified = false; return;
  }
}

std::vector<std::string> removals(const Target& target, const Seen& seen, const Memory& memory) {
  if (target.state == State::Unmanaged) return {};
  std::vector<std::string> modules;
  size_t needed = 0;  // so many of them, counted from the top
  for (const char* name : kFromTheTop) {
    const auto loaded = seen.modules.find(name);
    if (loaded == seen.modules.end()) continue;
    modules.emplace_back(name);
    if (is_wrong(target, loaded->second, memory)) needed = modules.size();
  }
  modules.resize(needed);
  return modules;
}

std::optional<Stage> next_stage(const Target& target, const Seen& seen, const Memory& memory) {
  if (const auto removal = next_removal(target, seen, memory)) return removal;
  const bool is_loaded = target.state == State::Loaded;
  if (is_loaded && target.restarts_server && !memory.server_stopped) {
    // A stack that comes while there is no server gets none.
    return Stage{memory.door_closed ? Act::StopControlPlane : Act::CloseDoor, {}, {}};
  }
  if (target.undone_driver && !seen.modules.contains("sfc")) return Stage{Act::Insert, "sfc", std::string(kOfSystem)};
  if (is_loaded) {
    if (const auto insertion = next_insertion(target, seen)) return insertion;
  }
  // Before the verification, which takes a while: the nodes of a module that was inserted are open.
  if (target.door == Door::Shut && any(seen, Node::Open)) return Stage{Act::CloseDoor, {}, {}};
  if (target.ends_users && !memory.users_ended) return Stage{Act::EndUsers, {}, {}};
  if (is_loaded && !memory.verified) return Stage{Act::Verify, {}, {}};
  // Shut also by an operation before this one, which failed.
  const bool is_to_open = memory.door_to_open || any(seen, Node::Shut);
  return target.door == Door::Open && is_to_open ? std::optional(Stage{Act::OpenDoor, {}, {}}) : std::nullopt;
}

}  // namespace nrd::onload
