#include "engine/onload/operation_planner.h"

#include <algorithm>
#include <utility>

#include "base/find_in.h"
#include "base/log.h"
#include "engine/onload/dry_run.h"
#include "engine/onload/next_step.h"
#include "engine/onload/preconditions.h"
#include "engine/onload/rollback_plan.h"

namespace nrd::onload {
namespace {

Spec patched(Spec spec, const SpecPatch& patch) {
  for (const auto& [module, values] : patch.parameters) {
    for (const auto& [name, value] : values) spec.parameters[module][name] = value;
  }
  if (patch.control_plane) spec.control_plane = *patch.control_plane;
  return spec;
}

}  // namespace

void OperationPlanner::load(const Stored& stored) {
  status_.freeze = stored.freeze;
  status_.drained = stored.drained;
  status_.interfaces = stored.interfaces;
  status_.generations = stored.generations;
  status_.operations = stored.operations;
  publish();
}

Result<void> OperationPlanner::set_freeze(const Freeze& freeze) {
  Result<void> stored = commit_({.freeze = freeze});
  if (stored) status_.freeze = freeze;
  publish();
  return stored;
}

Result<Accepted> OperationPlanner::roll_back(std::optional<uint64_t> to) {
  return spec_before(status_, to).and_then([&](const Spec& spec) { return begin(spec, std::nullopt); });
}

Result<DryRun> OperationPlanner::dry_run(const std::optional<Spec>& spec, std::optional<uint64_t> if_match) {
  if (!spec && status_.generations.empty()) return fail(ErrorCode::NotFound, "no spec has been requested yet");
  refresh();
  const Spec& planned = spec ? *spec : status_.generations.back().spec;
  return onload::dry_run(node_, status_, planned, {.most_forceful = most_forceful_, .if_match = if_match});
}

// A refresh without changes does not create a new revision.
void OperationPlanner::publish() {
  const Generation* kept = effective(status_);
  status_.device_access_open = kept != nullptr && kept->spec.state == State::Loaded && running(status_) == nullptr &&
                               status_.drift.empty() && status_.problem.empty() && !last_failed(status_) &&
                               !status_.drained;
  status_.conditions = conditions_of(status_, status_.conditions, now(clock_));
  const std::shared_ptr<const Status> before = published_.get();
  if (before == nullptr || !shows_same(*before, status_)) ++status_.revision;
  published_.set(std::make_shared<const Status>(status_));
  announce_();
}

void OperationPlanner::observe() {
  Result<ObservedState> observed = node_.observe();
  status_.problem = observed ? "" : observed.error().message;
  if (observed) status_.observed = *std::move(observed);
}

void OperationPlanner::refresh() {
  observe();
  configure_new();
  const std::string before = std::move(status_.drift);
  std::optional<Result<Target>> target = target_in_force(node_, status_);
  status_.drift.clear();
  if (target && status_.problem.empty() && running(status_) == nullptr) {
    status_.drift = *target ? drift_of(**target, status_.observed) : target->error().message;
  }
  status_.target = target && *target ? std::optional(**std::move(target)) : std::nullopt;
  if (!status_.drift.empty() && status_.drift != before) {
    log::warning("ONLOAD_DRIFTED", "Onload differs from the last verified generation", {{"DIFFERENCE", status_.drift}});
  }
  publish();
}

// After a boot no Onload module is loaded: restore them. If other modules were loaded meanwhile, leave them untouched.
// Fails if the node cannot be observed, or the operation not be stored.
Result<void> OperationPlanner::begin_after_start() {
  const Generation* kept = effective(status_);
  const bool may = options_.at_start == AtStart::Apply && !status_.freeze.frozen;
  if (!may || running(status_) != nullptr || kept == nullptr || kept->spec.state != State::Loaded) return {};
  if (!status_.problem.empty()) return fail(ErrorCode::Hardware, status_.problem);
  // At boot udev loads the drivers of network cards, with all that they depend on.
  const auto is_of_onload = [](const auto& entry) {
    return !is_of_driver(entry.first) && entry.first != "xilinx_efct";
  };
  if (std::ranges::any_of(status_.observed.modules, is_of_onload)) return {};
  return start_operation({.generation = kept->number}, {}).map([](const Accepted&) {});
}

Result<Accepted> OperationPlanner::begin(const Spec& spec, std::optional<uint64_t> if_match) {
  TRY(check_changeable(status_));
  TRY(check_match(status_, if_match));
  TRY(check_policy(spec.users, most_forceful_));
  const Target target = TRY(target_now(node_, status_, spec));
  refresh();
  if (!status_.problem.empty()) return fail(ErrorCode::Hardware, status_.problem);
  if (is_fulfilled(status_, spec, target)) return Accepted{last_generation(status_), std::nullopt};
  const std::vector<std::string> removed = removals(target, status_.observed);
  if (std::ranges::any_of(removed, is_of_driver)) {
    TRY(node_.may_remove_driver());
  }
  if (!removed.empty() && spec.users == UsersPolicy::Fail) {
    if (const InUse use = node_.find_users(); use.in_use()) return Failure(in_the_way(use));
  }
  return accept(spec);
}

Result<Accepted> OperationPlanner::patch(const SpecPatch& patch, std::optional<uint64_t> if_match) {
  const Generation kept = TRY(loaded_generation(status_));
  const Spec spec = patched(kept.spec, patch);
  const Target target = TRY(target_now(node_, status_, spec));
  refresh();
  TRY(check_reload(patch, target, status_.observed));
  return begin(spec, if_match);
}

Result<Accepted> OperationPlanner::drain(const Drain& how) {
  TRY(check_changeable(status_));
  TRY(check_policy(how.users, most_forceful_));
  const Generation kept = TRY(loaded_generation(status_));
  if (status_.drained) return Accepted{kept.number, std::nullopt};
  return start_operation(
      {.generation = kept.number, .kind = OperationKind::Drain, .users = how.users, .drain = how.drain},
      {.drained = true});
}

Result<Accepted> OperationPlanner::undrain() {
  TRY(check_changeable(status_));
  const Generation* kept = effective(status_);
  const uint64_t number = kept == nullptr ? 0 : kept->number;
  if (!status_.drained) return Accepted{number, std::nullopt};
  return start_operation({.generation = number, .kind = OperationKind::Undrain}, {.drained = false});
}

Result<Accepted> OperationPlanner::restart_control_plane() {
  TRY(check_changeable(status_));
  const Generation kept = TRY(loaded_generation(status_));
  const Target target = TRY(target_now(node_, status_, kept.spec));
  refresh();
  TRY(check_spawning(target, status_.observed));
  const std::vector<Stack> stacks = TRY(node_.stacks());
  TRY(check_unserved(stacks));
  return start_operation({.generation = kept.number, .kind = OperationKind::RestartControlPlane}, {});
}

// Stored at once, so that the rollback also happens if the daemon dies before the next step.
Result<Accepted> OperationPlanner::cancel(uint64_t id) {
  const Operation* found = first_with(status_.operations, &Operation::id, id);
  if (!found) return fail(ErrorCode::NotFound, "operation not found");
  Operation operation = *found;
  const Result<RollbackPlan> plan = plan_of(node_, status_, operation);
  TRY(check_cancellable(operation, plan && plan->back));
  operation.cause = kCancelled;
  operation.message = "cancelled by request";
  TRY(record(operation));
  return Accepted{operation.generation, operation.id};
}

// Together with `change`.
Result<Accepted> OperationPlanner::start_operation(Operation operation, Change change) {
  operation.id = next_operation(status_);
  operation.started = now(clock_);
  const Accepted accepted{operation.generation, operation.id};
  change.operations = {std::move(operation)};
  TRY(store(std::move(change)));
  return accepted;
}

Result<Accepted> OperationPlanner::accept(const Spec& spec) {
  Generation generation{.number = last_generation(status_) + 1, .spec = spec, .created = now(clock_)};
  const uint64_t number = generation.number;
  if (spec.state != State::Unmanaged) return start_operation({.generation = number}, {.generations = {generation}});
  generation.verdict = Verdict::Verified;
  generation.verified = now(clock_);
  TRY(store({.generations = {generation}}));
  return Accepted{number, std::nullopt};
}

Result<void> OperationPlanner::store(Change change) {
  forget_oldest(status_, options_.kept, change);
  TRY(commit_(change));
  take_over(status_, change);
  publish();
  return {};
}

Result<Verification> OperationPlanner::verify() {
  if (const Operation* operation = running(status_)) return busy(*operation);
  const Generation kept = TRY(loaded_generation(status_));
  const Target target = TRY(target_now(node_, status_, kept.spec));
  refresh();
  Verification found{.generation = kept.number, .step_error = std::nullopt};
  if (!status_.drift.empty()) {
    found.step_error = StepError{"drifted", status_.drift, {}, {}};
  } else if (const Acted verified = node_.verify(target, {}); !verified) {
    found.step_error = verified.error();
  } else if (const std::string wrong = wrong_device(status_); !wrong.empty()) {
    found.step_error = StepError{"device", wrong, {}, {}};
  }
  return found;
}

// Stores the end of an operation together with its consequences (verdict, device access) in one commit.
Result<void> OperationPlanner::record(const Operation& operation) {
  Change change{.operations = {operation}};
  Generation* found = first_with(status_.generations, &Generation::number, operation.generation);
  std::optional<Generation> judged;
  const bool is_over = operation.outcome != Outcome::Running;
  if (is_over && operation.kind == OperationKind::Drain && operation.outcome != Outcome::Succeeded)
    change.drained = false;
  if (is_over && operation.kind == OperationKind::Change && found) {
    judged = *found;
    if (operation.outcome == Outcome::Succeeded) {
      judged->verdict = Verdict::Verified;
      judged->verified = now(clock_);
    } else if (judged->verdict == Verdict::Pending) {
      // A generation that was verified once stays a rollback target, even if it failed to load after a boot.
      judged->verdict = Verdict::Failed;
    }
    change.generations = {*judged};
  }
  TRY(commit_(change));
  if (judged) *found = *judged;
  if (change.drained) status_.drained = *change.drained;
  status_.operations.back() = operation;
  publish();
  return {};
}

}  // namespace nrd::onload
