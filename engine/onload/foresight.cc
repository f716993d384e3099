#include "engine/onload/foresight.h"

#include <algorithm>
#include <utility>

#include "engine/onload/interface_wish.h"
#include "engine/onload/journey.h"
#include "engine/onload/permission.h"
#include "engine/onload/way.h"
#include "engine/onload/words.h"

namespace nrd::onload {
namespace {

// As many as a journey takes at most.
constexpr size_t kMostStages = 200;
constexpr mode_t kOpen = 0666;
constexpr const char* kOnload = "onload";
constexpr const char* kSpawns = "cplane_spawn_server";

void set_door(Seen& seen, mode_t mode) {
  for (DeviceNode& device : seen.devices) {
    if (device.node) device.node->access.mode = mode;
  }
}

// So that it does not come back by itself.
void stop_servers(Seen& seen) {
  seen.servers.clear();
  const auto onload = seen.modules.find(kOnload);
  if (onload == seen.modules.end()) return;
  const auto spawns = onload->second.parameters.find(kSpawns);
  if (spawns != onload->second.parameters.end()) spawns->second.value = "N";
}

void insert(Seen& seen, const TargetModule& module) {
  Module loaded{.name = module.name, .build_id = module.build_id};
  for (const auto& [name, value] : module.parameters) loaded.parameters[name] = {value, true};
  seen.modules[module.name] = std::move(loaded);
  if (module.name != kOnload) return;
  constexpr DeviceNumber kAny{1, 0};
  seen.devices = {{.name = kOnload, .number = kAny, .node = NodeFile{kAny, {.uid = 0, .gid = 0, .mode = kOpen}}}};
}

void set_parameter(Seen& seen, const Stage& stage) {
  const size_t dot = stage.subject.find('.');
  seen.modules[stage.subject.substr(0, dot)].parameters[stage.subject.substr(dot + 1)].value = stage.value;
}

// The module knows nothing of those before it, and accelerates what it is not told to leave.
void forget_settings(Seen& seen) {
  for (Interface& interface : seen.interfaces) {
    interface.afxdp = false;
    if (interface.accelerated) interface.accelerated = true;
  }
}

void configure(Seen& seen, const Stage& stage) {
  const auto [name, what] = parse_subject(stage.subject);
  const auto found = std::ranges::find(seen.interfaces, name, &Interface::name);
  if (found == seen.interfaces.end()) return;
  const bool is_on = stage.value == word_of(Turned::On);
  if (what == InterfaceSwitch::Afxdp) found->afxdp = is_on;
  if (what == InterfaceSwitch::Acceleration) found->accelerated = is_on;
}

// What the node looks like after the stage, as far as next_stage() asks.
void apply(const Stage& stage, const Target& target, Seen& seen) {
  switch (stage.act) {
    case Act::CloseDoor: return set_door(seen, 0);
    case Act::OpenDoor: return set_door(seen, kOpen);
    case Act::StopControlPlane: return stop_servers(seen);
    case Act::Remove:
      seen.modules.erase(stage.subject);
      if (stage.subject == kOnload) seen.devices.clear();
      if (stage.subject == "sfc_resource") forget_settings(seen);
      return;
    case Act::Switch: seen.current = stage.subject; return;
    case Act::Insert: return insert(seen, *std::ranges::find(target.modules, stage.subject, &TargetModule::name));
    case Act::SetParameter: return set_parameter(seen, stage);
    case Act::Configure: return configure(seen, stage);
    case Act::EndUsers:
    case Act::Verify: return;
  }
}

Check check(std::string name, const Result<void>& result) {
  return {std::move(name), result ? std::nullopt : std::optional(result.error()), {}};
}

Check check_users(const InUse& use, UsersPolicy policy, bool must_end) {
  const std::string who = use.in_use() ? "in use by " + describe(use) : "nobody uses Onload";
  if (!must_end || !use.in_use() || policy != UsersPolicy::Fail) return {"users", std::nullopt, who};
  return {"users", in_the_way(use), {}};
}

}  // namespace

std::vector<Stage> foretell(const Target& target, Seen seen, Memory memory) {
  std::vector<Stage> stages;
  while (stages.size() < kMostStages) {
    const std::optional<Stage> stage = next_stage(target, seen, memory);
    if (!stage) break;
    apply(*stage, target, seen);
    remember(memory, *stage);
    stages.push_back(*stage);
  }
  return stages;
}

bool is_fulfilled(const View& view, const Desired& desired, const Target& target) {
  const Generation* kept = effective(view);
  return kept != nullptr && kept->number == last_generation(view) && kept->desired == desired && !last_failed(view) &&
         !next_stage(target, view.seen, {.verified = true});
}

Foresight foresee(Node& node, const View& view, const Desired& desired, const Limits& limits) {
  Foresight found;
  found.checks = {check("operation", check_idle(view)), check("frozen", check_thawed(view)),
                  check("generation", check_match(view, limits.if_match)),
                  check("users_policy", check_policy(desired.users, limits.most_forceful))};
  for (Check& one : node.examine(desired)) found.checks.push_back(std::move(one));
  const Result<Target> target = target_now(node, view, desired);
  if (!target) return found;
  found.checks.push_back(check_users(node.find_users(), desired.users, !removals(*target, view.seen).empty()));
  if (!is_fulfilled(view, desired, *target)) found.stages = foretell(*target, view.seen, {});
  return found;
}

std::optional<Error> refusal_of(const Foresight& foresight) {
  for (const Check& check : foresight.checks) {
    if (check.refusal) return check.refusal;
  }
  return std::nullopt;
}

}  // namespace nrd::onload
