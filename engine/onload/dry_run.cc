#include "engine/onload/dry_run.h"

#include <utility>

#include "base/find_in.h"
#include "engine/onload/enum_names.h"
#include "engine/onload/interface_spec.h"
#include "engine/onload/operation_runner.h"
#include "engine/onload/preconditions.h"
#include "engine/onload/rollback_plan.h"

namespace nrd::onload {
namespace {

// The limit of one run.
constexpr size_t kMaxSteps = 200;
constexpr mode_t kOpen = 0666;
constexpr const char* kOnload = "onload";
constexpr const char* kSpawns = "cplane_spawn_server";

void set_access(ObservedState& observed, mode_t mode) {
  for (DeviceNode& device : observed.devices) {
    if (device.node) device.node->access.mode = mode;
  }
}

// Disable spawning too, so that no server restarts.
void stop_servers(ObservedState& observed) {
  observed.servers.clear();
  const auto onload = observed.modules.find(kOnload);
  if (onload == observed.modules.end()) return;
  const auto spawns = onload->second.parameters.find(kSpawns);
  if (spawns != onload->second.parameters.end()) spawns->second.value = "N";
}

void insert(ObservedState& observed, const TargetModule& module) {
  Module loaded{.name = module.name, .build_id = module.build_id};
  for (const auto& [name, value] : module.parameters) loaded.parameters[name] = {value, true};
  observed.modules[module.name] = std::move(loaded);
  if (module.name != kOnload) return;
  constexpr DeviceNumber kAny{1, 0};
  observed.devices = {{.name = kOnload, .number = kAny, .node = NodeFile{kAny, {.uid = 0, .gid = 0, .mode = kOpen}}}};
}

void set_parameter(ObservedState& observed, const NextStep& step) {
  const size_t dot = step.subject.find('.');
  observed.modules[step.subject.substr(0, dot)].parameters[step.subject.substr(dot + 1)].value = step.value;
}

// A reloaded module forgets its settings and accelerates every interface.
void forget_settings(ObservedState& observed) {
  for (Interface& interface : observed.interfaces) {
    interface.afxdp = false;
    if (interface.accelerated) interface.accelerated = true;
  }
}

void configure(ObservedState& observed, const NextStep& step) {
  const auto [name, what] = parse_subject(step.subject);
  Interface* found = first_with(observed.interfaces, &Interface::name, name);
  if (!found) return;
  const bool is_on = step.value == json::name_of(SwitchState::On);
  if (what == InterfaceSwitch::Afxdp) found->afxdp = is_on;
  if (what == InterfaceSwitch::Acceleration) found->accelerated = is_on;
}

// Applies a step to the observed state, as far as next_step() reads it.
void apply(const NextStep& step, const Target& target, ObservedState& observed) {
  switch (step.act) {
    case Act::CloseDeviceAccess: return set_access(observed, 0);
    case Act::OpenDeviceAccess: return set_access(observed, kOpen);
    case Act::StopControlPlane: return stop_servers(observed);
    case Act::Remove:
      observed.modules.erase(step.subject);
      if (step.subject == kOnload) observed.devices.clear();
      if (step.subject == "sfc_resource") forget_settings(observed);
      return;
    case Act::Switch: observed.current = step.subject; return;
    case Act::Insert: return insert(observed, *find_module(target, step.subject));
    case Act::SetParameter: return set_parameter(observed, step);
    case Act::Configure: return configure(observed, step);
    case Act::EndUsers:
    case Act::Verify: return;
  }
}

// Simulates next_step() until nothing is left to do.
std::vector<NextStep> next_steps_of(const Target& target, ObservedState observed) {
  RunState run_state;
  std::vector<NextStep> steps;
  while (steps.size() < kMaxSteps) {
    const std::optional<NextStep> step = next_step(target, observed, run_state);
    if (!step) break;
    apply(*step, target, observed);
    remember(run_state, *step);
    steps.push_back(*step);
  }
  return steps;
}

Check check_users(const InUse& use, UsersPolicy policy, bool must_end) {
  const std::string who = use.in_use() ? "in use by " + describe(use) : "Onload is not in use";
  if (!must_end || !use.in_use() || policy != UsersPolicy::Fail) return {"users", std::nullopt, who};
  return {"users", in_the_way(use), {}};
}

}  // namespace

bool is_fulfilled(const Status& status, const Spec& spec, const Target& target) {
  const Generation* kept = effective(status);
  return kept != nullptr && kept->number == last_generation(status) && kept->spec == spec && !last_failed(status) &&
         !next_step(target, status.observed, {.verified = true});
}

DryRun dry_run(Host& node, const Status& status, const Spec& spec, const Limits& limits) {
  DryRun found;
  found.checks = {check_of("operation", check_idle(status)), check_of("frozen", check_thawed(status)),
                  check_of("generation", check_match(status, limits.if_match)),
                  check_of("users_policy", check_policy(spec.users, limits.most_forceful))};
  for (Check& one : node.examine(spec)) found.checks.push_back(std::move(one));
  const Result<Target> target = target_now(node, status, spec);
  if (!target) return found;
  found.checks.push_back(check_users(node.find_users(), spec.users, !removals(*target, status.observed).empty()));
  if (!is_fulfilled(status, spec, *target)) found.steps = next_steps_of(*target, status.observed);
  return found;
}

std::optional<Error> refusal_of(const DryRun& dry_run_) {
  for (const Check& check : dry_run_.checks) {
    if (check.refusal) return check.refusal;
  }
  return std::nullopt;
}

}  // namespace nrd::onload
