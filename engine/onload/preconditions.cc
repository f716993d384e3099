#include "engine/onload/preconditions.h"

#include <algorithm>
#include <string>

#include "engine/onload/enum_names.h"
#include "engine/onload/next_step.h"
#include "engine/onload/operation_runner.h"
#include "hw/onload/parameter_text.h"

namespace nrd::onload {

Failure busy(const Operation& operation) {
  Error error{ErrorCode::Conflict, {}, "operation " + std::to_string(operation.id) + " is under way", {}, {}, {}};
  error.subject = std::to_string(operation.id);
  return Failure(std::move(error));
}

Result<void> check_idle(const Status& status) {
  if (const Operation* operation = running(status)) return busy(*operation);
  return {};
}

Result<void> check_thawed(const Status& status) {
  if (!status.freeze.frozen) return {};
  return fail(ErrorCode::Locked,
              "Onload is frozen" + (status.freeze.reason.empty() ? "" : ": " + status.freeze.reason));
}

Result<void> check_match(const Status& status, std::optional<uint64_t> if_match) {
  if (!if_match || *if_match == last_generation(status)) return {};
  return fail(ErrorCode::Stale, "the last generation is " + std::to_string(last_generation(status)));
}

Result<void> check_policy(UsersPolicy asked, UsersPolicy most) {
  if (asked <= most) return {};
  return fail_at(ErrorCode::BadRequest, "/users_policy", "this node does not allow it",
                 "up to " + std::string(word_of(most)) + " (onload.users_policy in nrd.toml)");
}

Error in_the_way(const InUse& use) {
  return {
      ErrorCode::Conflict, {}, "Onload is in use by " + describe(use) + "; end them, or say users_policy", {}, {}, {}};
}

Result<Generation> loaded_generation(const Status& status) {
  const Generation* kept = effective(status);
  if (kept != nullptr && kept->spec.state == State::Loaded) return *kept;
  return fail(ErrorCode::Conflict, "no generation that loads Onload is in force");
}

Result<void> check_spawning(const Target& target, const Seen& seen) {
  const auto is_there = [&seen](const TargetModule& module) { return seen.modules.contains(module.name); };
  if (!removals(target, seen).empty() || !std::ranges::all_of(target.modules, is_there)) {
    return fail(ErrorCode::Conflict, "what is loaded is not what was verified (nrdctl onload says more)");
  }
  const auto onload = std::ranges::find(target.modules, "onload", &TargetModule::name);
  const auto spawns = onload->parameters.find("cplane_spawn_server");
  if (spawns != onload->parameters.end() && says_same("Y", spawns->second)) return {};
  return fail(ErrorCode::Conflict, "this generation has the module onload start no control plane server");
}

Result<void> check_unserved(const std::vector<Stack>& stacks) {
  if (stacks.empty()) return {};
  const size_t count = stacks.size();
  return fail(ErrorCode::Conflict,
              (count == 1 ? "a stack uses" : std::to_string(count) + " stacks use") +
                  std::string(" the control plane server: the module starts no other one until they are gone "
                              "(GET /v1/onload/stacks)"));
}

Result<void> check_cancellable(const Operation& operation, bool can_roll_back) {
  const std::string name = "operation " + std::to_string(operation.id);
  if (operation.outcome != Outcome::Running) {
    return fail(ErrorCode::Conflict, name + " is over: " + std::string(word_of(operation.outcome)));
  }
  if (operation.fallback) return fail(ErrorCode::Conflict, name + " is on its way back already");
  if (operation.kind == OperationKind::Undrain || operation.kind == OperationKind::RestartControlPlane) {
    return fail(ErrorCode::Conflict, name + " is one of those that cannot be cancelled");
  }
  if (has_changed(operation) && !can_roll_back) {
    return fail(ErrorCode::Conflict, name + " has begun to change the node, and there is nothing to go back to");
  }
  return {};
}

}  // namespace nrd::onload
