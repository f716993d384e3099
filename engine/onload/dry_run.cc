#include "engine/onload/dry_run.h"

#include <algorithm>
#include <utility>

#include "engine/onload/enum_names.h"
#include "engine/onload/interface_spec.h"
#include "engine/onload/operation_runner.h"
#include "engine/onload/preconditions.h"
#include "engine/onload/rollback_plan.h"

namespace nrd::onload {
namespace {

// As many as a run takes at most.
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

void set_parameter(Seen& seen, const NextStep& step) {
  const size_t dot = step.subject.find('.');
  seen.modules[step.subject.substr(0, dot)].parameters[step.subject.substr(dot + 1)].value = step.value;
}

// The module knows nothing of those before it, and accelerates what it is not told to leave.
void forget_settings(Seen& seen) {
  for (Interface& interface : seen.interfaces) {
    interface.afxdp = false;
    if (interface.accelerated) interface.accelerated = true;
  }
}

void configure(Seen& seen, const NextStep& step) {
  const auto [name, what] = parse_subject(step.subject);
  const auto found = std::ranges::find(seen.interfaces, name, &Interface::name);
  if (found == seen.interfaces.end()) return;
  const bool is_on = step.value == word_of(Turned::On);
  if (what == InterfaceSwitch::Afxdp) found->afxdp = is_on;
  if (what == InterfaceSwitch::Acceleration) found->accelerated = is_on;
}

// What the node looks like after the step, as far as next_step() asks.
void apply(const NextStep& step, const Target& target, Seen& seen) {
  switch (step.act) {
    case Act::CloseDoor: return set_door(seen, 0);
    case Act::OpenDoor: return set_door(seen, kOpen);
    case Act::StopControlPlane: return stop_servers(seen);
    case Act::Remove:
      seen.modules.erase(step.subject);
      if (step.subject == kOnload) seen.devices.clear();
      if (step.subject == "sfc_resource") forget_settings(seen);
      return;
    case Act::Switch: seen.current = step.subject; return;
    case Act::Insert: return insert(seen, *std::ranges::find(target.modules, step.subject, &TargetModule::name));
    case Act::SetParameter: return set_parameter(seen, step);
    case Act::Configure: return configure(seen, step);
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

std::vector<NextStep> next_steps_of(const Target& target, Seen seen, RunState run_state) {
  std::vector<NextStep> steps;
  while (steps.size() < kMostStages) {
    const std::optional<NextStep> step = next_step(target, seen, run_state);
    if (!step) break;
    apply(*step, target, seen);
    remember(run_state, *step);
    steps.push_back(*step);
  }
  return steps;
}

bool is_fulfilled(const Status& status, const Spec& spec, const Target& target) {
  const Generation* kept = effective(status);
  return kept != nullptr && kept->number == last_generation(status) && kept->spec == spec && !last_failed(status) &&
         !next_step(target, status.seen, {.verified = true});
}

DryRun dry_run(Host& node, const Status& status, const Spec& spec, const Limits& limits) {
  DryRun found;
  found.checks = {check("operation", check_idle(status)), check("frozen", check_thawed(status)),
                  check("generation", check_match(status, limits.if_match)),
                  check("users_policy", check_policy(spec.users, limits.most_forceful))};
  for (Check& one : node.examine(spec)) found.checks.push_back(std::move(one));
  const Result<Target> target = target_now(node, status, spec);
  if (!target) return found;
  found.checks.push_back(check_users(node.find_users(), spec.users, !removals(*target, status.seen).empty()));
  if (!is_fulfilled(status, spec, *target)) found.steps = next_steps_of(*target, status.seen, {});
  return found;
}

std::optional<Error> refusal_of(const DryRun& dry_run_) {
  for (const Check& check : dry_run_.checks) {
    if (check.refusal) return check.refusal;
  }
  return std::nullopt;
}

}  // namespace nrd::onload
