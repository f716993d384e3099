#include "engine/onload/preconditions.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/find_in.h"
#include "base/joined.h"
#include "engine/onload/enum_names.h"
#include "engine/onload/next_step.h"
#include "engine/onload/operation_runner.h"
#include "hw/onload/parameter_text.h"

namespace nrd::onload {

Failure busy(const Operation& operation) {
  Error error{ErrorCode::Conflict, {}, fmt::format("operation {} is running", operation.id), {}, {}, {}};
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

Result<void> check_changeable(const Status& status) {
  TRY(check_idle(status));
  return check_thawed(status);
}

Result<void> check_match(const Status& status, std::optional<uint64_t> if_match) {
  if (!if_match || *if_match == last_generation(status)) return {};
  return fail(ErrorCode::Stale, fmt::format("precondition failed: the last generation is {}", last_generation(status)));
}

Result<void> check_policy(UsersPolicy asked, UsersPolicy most) {
  if (asked <= most) return {};
  return fail_at(ErrorCode::BadRequest, "/users_policy", "not allowed on this node",
                 fmt::format("up to {} (onload.users_policy in nrd.toml)", json::name_of(most)));
}

Error in_the_way(const InUse& use) {
  return {ErrorCode::Conflict,
          {},
          fmt::format("Onload is in use by {}; end these processes or set users_policy", describe(use)),
          {},
          {},
          {}};
}

Result<Generation> loaded_generation(const Status& status) {
  const Generation* kept = effective(status);
  if (kept != nullptr && kept->spec.state == State::Loaded) return *kept;
  return fail(ErrorCode::Conflict, "the effective generation does not load Onload");
}

Result<void> check_reload(const SpecPatch& patch, const Target& target, const ObservedState& observed) {
  const std::vector<std::string> modules = removals(target, observed);
  if (modules.empty() || patch.reload == Reload::Allow) return {};
  return fail(ErrorCode::Conflict,
              fmt::format("this requires reloading modules ({}), which ends their users; use ?reload=true",
                          joined(modules, ", ")));
}

Result<void> check_spawning(const Target& target, const ObservedState& observed) {
  const auto is_there = [&observed](const TargetModule& module) { return observed.modules.contains(module.name); };
  if (!removals(target, observed).empty() || !std::ranges::all_of(target.modules, is_there)) {
    return fail(ErrorCode::Conflict, "the loaded modules differ from the verified ones; see nrdctl onload");
  }
  const std::string* spawns = find_in(find_module(target, "onload")->parameters, "cplane_spawn_server");
  if (spawns != nullptr && says_same("Y", *spawns)) return {};
  return fail(ErrorCode::Conflict, "this generation disables the control plane server (cplane_spawn_server)");
}

Result<void> check_unserved(const std::vector<Stack>& stacks) {
  if (stacks.empty()) return {};
  const size_t count = stacks.size();
  return fail(ErrorCode::Conflict,
              (count == 1 ? "a stack uses" : fmt::format("{} stacks use", count)) +
                  std::string(" the control plane server; it cannot be restarted until they are closed "
                              "(GET /v1/onload/stacks)"));
}

Result<void> check_cancellable(const Operation& operation, bool can_roll_back) {
  const std::string name = fmt::format("operation {}", operation.id);
  if (operation.outcome != Outcome::Running) {
    return fail(ErrorCode::Conflict, fmt::format("{} has already ended: {}", name, json::name_of(operation.outcome)));
  }
  if (operation.fallback) return fail(ErrorCode::Conflict, name + " is already being rolled back");
  if (operation.kind == OperationKind::Undrain || operation.kind == OperationKind::RestartControlPlane) {
    return fail(ErrorCode::Conflict, name + " cannot be cancelled");
  }
  if (has_changed(operation) && !can_roll_back) {
    return fail(ErrorCode::Conflict, name + " has changed the node and has no generation to roll back to");
  }
  return {};
}

}  // namespace nrd::onload
