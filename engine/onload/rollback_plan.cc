#include "engine/onload/rollback_plan.h"

#include "engine/onload/enum_names.h"
#include "engine/onload/next_step.h"

namespace nrd::onload {
namespace {

std::string text_of(const NextStep& step) {
  return std::string(json::name_of(step.act)) + (step.subject.empty() ? "" : " " + step.subject);
}

// The rollback target if there was no generation before. Keeps a driver that this spec loaded where none was: removing
// it would remove the interfaces as well.
Target as_before_us(const Spec& spec) {
  return {.state = State::Unloaded, .sfc = Sfc::External, .users = spec.users, .drain = spec.drain};
}

// After a failure, device access stays closed whatever is requested.
DeviceAccess usual_access(const Status& status) {
  return last_failed(status) ? DeviceAccess::Unchanged : DeviceAccess::Open;
}

RollbackPlan plan_to_drain(const Status& status, const Operation& operation) {
  return {.forward = {.state = State::Unmanaged,
                      .users = operation.users,
                      .drain = operation.drain,
                      .device_access = DeviceAccess::Closed,
                      .ends_users = true},
          .back = {},
          .back_to = operation.generation,
          .access_before = usual_access(status)};
}

// Its version may be gone, or not for the kernel of this boot: then only the way back is left, if there is one.
Result<RollbackPlan> plan_to_generation(Host& node, const Status& status, const Generation& generation) {
  Result<Target> forward = target_now(node, status, generation.spec);
  const Generation* kept = effective(status);
  const bool has_way_back = kept != nullptr && kept->number != generation.number;
  if (!forward && !has_way_back) return Failure(forward.error());
  std::string missing = forward ? "" : forward.error().message;
  RollbackPlan plan{.forward = std::move(forward).value_or(Target{}),
                    .missing = std::move(missing),
                    .back = {},
                    .back_to = 0,
                    .on_failure = generation.spec.on_failure,
                    .access_before = status.drained ? DeviceAccess::Closed : usual_access(status)};
  const bool had_driver = kept != nullptr && kept->spec.state == State::Loaded && kept->spec.sfc == Sfc::Managed;
  plan.foreign_driver = generation.spec.sfc == Sfc::Managed && !had_driver;
  if (kept == nullptr) {
    plan.back = as_before_us(generation.spec);
    return plan;
  }
  plan.back_to = kept->number;
  if (!has_way_back || kept->spec.state == State::Unmanaged) return plan;
  if (Result<Target> back = target_now(node, status, kept->spec)) plan.back = *std::move(back);
  return plan;
}

}  // namespace

Result<Target> target_now(Host& node, const Status& status, const Spec& spec) {
  Result<Target> target = node.target_of(spec);
  if (!target) return target;
  if (status.drained && target->device_access == DeviceAccess::Open) target->device_access = DeviceAccess::Closed;
  target->interfaces = status.interfaces;
  return target;
}

Result<RollbackPlan> plan_of(Host& node, const Status& status, const Operation& operation) {
  if (operation.kind == OperationKind::Drain) return plan_to_drain(status, operation);
  if (operation.kind == OperationKind::Undrain) {
    return RollbackPlan{.forward = {.state = State::Unmanaged, .device_access = usual_access(status)},
                        .back = {},
                        .back_to = operation.generation,
                        .on_failure = OnFailure::Stop};
  }
  const Generation* generation = find_generation(status, operation.generation);
  if (generation == nullptr) return fail(ErrorCode::NotFound, "the generation of this operation was deleted");
  Result<RollbackPlan> plan = plan_to_generation(node, status, *generation);
  if (plan && operation.kind == OperationKind::RestartControlPlane) {
    plan->forward.restarts_control_plane = true;
    plan->on_failure = OnFailure::Rollback;  // while only device access is closed
  }
  return plan;
}

std::optional<Result<Target>> target_in_force(Host& node, const Status& status) {
  const Generation* kept = effective(status);
  if (kept == nullptr) return std::nullopt;
  return target_now(node, status, kept->spec);
}

// The first step that would be needed.
std::string drift_of(const Target& target, const ObservedState& observed) {
  const std::optional<NextStep> step = next_step(target, observed, {.verified = true});
  if (!step) return {};
  const std::vector<std::string> wrong = removals(target, observed);
  return wrong.empty() ? "needs " + text_of(*step) : wrong.back() + " was loaded from an unexpected file";
}

}  // namespace nrd::onload
