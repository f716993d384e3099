#include "engine/onload/operation_runner.h"

#include <algorithm>

#include "engine/onload/enum_names.h"
#include "engine/onload/interface_spec.h"
#include "engine/onload/preconditions.h"

namespace nrd::onload {
namespace {

constexpr std::chrono::milliseconds kLookForUsers{500};
constexpr std::chrono::seconds kGrace{5};  // after a signal
// More than any run needs; one that is longer goes in circles, as when somebody loads what nrd removes.
constexpr size_t kMostSteps = 200;
constexpr const char* kInUse = "in_use";
constexpr const char* kStopping = "stopping";
constexpr const char* kCircles = "circles";
constexpr const char* kFrozen = "frozen";

StepError cancelled() { return {kCancelled, "it was cancelled", {}, {}}; }
StepError frozen() { return {kFrozen, "Onload was frozen before anything was removed", {}, {}}; }

bool has_closed_door(const Operation& operation) {
  return std::ranges::find(operation.steps, Act::CloseDoor, &Step::act) != operation.steps.end();
}

// What is left to do about the device_access after `steps`. What was not done may have been done in part: then it is
// done again.
RunState access_after(const std::vector<Step>& steps) {
  RunState run_state;
  for (const Step& step : steps) {
    const bool is_about_doors = step.act == Act::CloseDoor || step.act == Act::Insert;
    if (step.progress == Progress::Done) {
      remember(run_state, {step.act, step.subject, {}});
    } else if (is_about_doors) {
      run_state.door_closed = false;
      run_state.door_to_open = true;
    }
  }
  return {.door_closed = run_state.door_closed, .door_to_open = run_state.door_to_open};
}

// Where one goes back to that has changed more. If somebody else's driver was removed, or may have been, that is part
// of it.
Target undone(const RollbackPlan& plan, const Operation& operation) {
  Target back = *plan.back;
  const auto removes = [](const Step& step) { return step.act == Act::Remove && is_of_driver(step.subject); };
  if (!plan.foreign_driver || std::ranges::none_of(operation.steps, removes)) return back;
  back.undone_driver.emplace();
  for (const TargetModule& module : plan.there.modules) {
    if (is_of_driver(module.name)) back.undone_driver->push_back(module.build_id);
  }
  return back;
}

// Where an operation goes back to that has closed the device_access and no more.
Target untouched(const RollbackPlan& plan) { return {.state = State::Unmanaged, .device_access = plan.access_before}; }

}  // namespace

bool has_changed(const Operation& operation) {
  return std::ranges::any_of(operation.steps, [](const Step& step) {
    switch (step.act) {
      case Act::CloseDoor:
      case Act::EndUsers:
      case Act::OpenDoor: return false;
      case Act::Verify:
      case Act::StopControlPlane:
      case Act::Remove:
      case Act::Switch:
      case Act::Insert:
      case Act::SetParameter:
      case Act::Configure: return true;
    }
    return true;
  });
}

std::string describe(const InUse& use) {
  std::string text;
  size_t told = 0;
  const size_t all = use.users.size() + use.unexplained.size() + use.foreign_holders.size() + use.unknown.size();
  const auto tell = [&](const std::string& what) {
    constexpr size_t kMost = 3;
    if (++told <= kMost) text += (text.empty() ? "" : ", ") + what;
  };
  for (const User& user : use.users) {
    tell(user.comm + " (pid " + std::to_string(user.process.pid) + (user.unit.empty() ? "" : ", " + user.unit) + ")");
  }
  for (const auto& [module, modules] : use.foreign_holders) tell("module " + modules.front());
  for (const auto& [module, count] : use.unexplained) {
    tell(std::to_string(count) + " references to " + module + " by nobody who can be seen");
  }
  for (const std::string& sentence : use.unknown) tell(sentence);
  if (text.empty()) return std::to_string(use.stacks.size()) + " stacks";
  return all > told ? text : text + (told > 3 ? " and " + std::to_string(told - 3) + " more" : "");
}

Time OperationRunner::now() const { return std::chrono::floor<std::chrono::milliseconds>(clock_.now()); }

Result<RunResult> OperationRunner::finish(Operation& operation, Outcome outcome) {
  operation.outcome = outcome;
  operation.finished = now();
  return record_(operation).map([] { return RunResult::Arrived; });
}

Result<RunResult> OperationRunner::give_up(Operation& operation, const Target& target) {
  // What was inserted on the plan made its nodes anew, open to all.
  if (has_changed(operation)) {
    const Result<Acted> shut = take(operation, {Act::CloseDoor, {}, {}}, target);
    if (!shut) return Failure(shut.error());
  }
  return finish(operation, Outcome::Failed);
}

Result<RunResult> OperationRunner::run(Operation& operation, const RollbackPlan& plan) {
  tries_left_ = 1;
  for (Step& step : operation.steps) {
    if (step.progress == Progress::Running) step.progress = Progress::Interrupted;
  }
  run_state_ = access_after(operation.steps);
  return go(operation, plan);
}

Result<RunResult> OperationRunner::go(Operation& operation, const RollbackPlan& plan) {
  for (;;) {
    if (pause_(std::chrono::milliseconds(0))) return RunResult::Interrupted;
    if (cancellation_.cancelled() && turns_back(operation, plan, cancelled())) continue;
    const bool changed = has_changed(operation);
    // Neither on the plan back nor once something was changed: the node is of no use in between.
    may_freeze_ = !changed && !operation.fallback;
    if (is_frozen() && has_closed_door(operation) && turns_back(operation, plan, frozen())) continue;
    const bool goes_back = operation.fallback && (plan.back || !changed);
    const Target target = !goes_back ? plan.there : changed ? undone(plan, operation) : untouched(plan);
    const Result<Seen> seen = node_.observe();
    if (!seen) return Failure(seen.error());
    const std::optional<NextStep> step = next_step(target, *seen, run_state_);
    if (!step) return finish(operation, goes_back ? Outcome::RolledBack : Outcome::Succeeded);

    if (step->act == Act::CloseDoor && is_frozen()) {
      operation.cause = frozen().cause;
      operation.message = frozen().message;
      return finish(operation, Outcome::Failed);
    }

    if (step->act == Act::Remove && is_of_driver(step->subject) && operation.interfaces.empty()) {
      operation.interfaces = interfaces_of_driver(seen->interfaces);
    }
    const Acted may = check_stacks(operation, *step, target);
    const Result<Acted> acted = may ? take(operation, *step, target) : Result<Acted>(may);
    if (!acted) return Failure(acted.error());
    if (*acted) {
      remember(run_state_, *step);
      continue;
    }
    const StepError& step_error = acted->error();
    if (step_error.cause == kStopping) return RunResult::Interrupted;
    if (step->act == Act::Remove && step_error.cause == kInUse && tries_left_ > 0) {
      --tries_left_;
      run_state_.users_ended = false;
      continue;
    }
    if (!turns_back(operation, plan, step_error)) return give_up(operation, target);
  }
}

Acted OperationRunner::check_stacks(const Operation& operation, const NextStep& step, const Target& target) {
  const bool ends_server = step.act == Act::StopControlPlane && target.restarts_server;
  if (!ends_server || has_changed(operation)) return {};  // what has begun goes on until there is a server again
  const Result<std::vector<Stack>> stacks = node_.stacks();
  if (!stacks) return tl::unexpected(StepError{"unreadable", stacks.error().message, stacks.error().detail, {}});
  const Result<void> checked = check_unserved(*stacks);
  return checked ? Acted() : tl::unexpected(StepError{kInUse, checked.error().message, {}, {}});
}

Result<Acted> OperationRunner::take(Operation& operation, const NextStep& step, const Target& target) {
  operation.steps.push_back({.act = step.act, .subject = step.subject, .started = now()});
  if (const Result<void> recorded = record_(operation); !recorded) return Failure(recorded.error());
  Acted acted = tl::unexpected(StepError{kCircles, "the node changes faster than nrd can follow"});
  if (operation.steps.size() < kMostSteps || step.act == Act::CloseDoor) acted = act(operation, step, target);

  Step& record = operation.steps.back();
  record.finished = now();
  record.progress = Progress::Done;
  if (!acted) {
    const std::string& cause = acted.error().cause;
    const bool was_broken_off = cause == kStopping || cause == kCancelled || cause == kFrozen;
    record.progress = was_broken_off ? Progress::Interrupted : Progress::Failed;
    record.cause = acted.error().cause;
    record.message = acted.error().message;
    record.kernel = acted.error().kernel;
  }
  if (const Result<void> recorded = record_(operation); !recorded) return Failure(recorded.error());
  return acted;
}

bool OperationRunner::turns_back(Operation& operation, const RollbackPlan& plan, const StepError& step_error) {
  if (operation.cause.empty()) {
    operation.cause = step_error.cause;
    operation.message = step_error.message;
  }
  const bool may =
      plan.on_failure == OnFailure::Rollback || step_error.cause == kCancelled || step_error.cause == kFrozen;
  const bool can = plan.back || !has_changed(operation);
  if (operation.fallback || !may || !can || step_error.cause == kCircles) return false;
  operation.fallback = plan.back_to;
  run_state_ = access_after(operation.steps);
  tries_left_ = 1;
  return true;
}

// One that is gone or has another name by now is looked for again.
Acted OperationRunner::configure(const NextStep& step) {
  const InterfaceSubject subject = parse_subject(step.subject);
  const Result<void> set = node_.set_interface(subject.interface, subject.what, *parse<Turned>(step.value));
  if (set || set.error().code == ErrorCode::NotFound) return {};
  return tl::unexpected(StepError{"interface_setting", set.error().message, set.error().detail, {}});
}

Acted OperationRunner::act(const Operation& operation, const NextStep& step, const Target& target) {
  switch (step.act) {
    case Act::CloseDoor: return node_.close_door();
    case Act::EndUsers: return end_users(target);
    case Act::StopControlPlane: return node_.stop_control_plane();
    case Act::Remove: return node_.remove(step.subject);
    case Act::Switch: return node_.switch_to(step.subject);
    case Act::Insert: {
      if (step.value == kOfSystem) return node_.insert_of_system(step.subject);
      return node_.insert(target.version, *std::ranges::find(target.modules, step.subject, &TargetModule::name));
    }
    case Act::SetParameter: {
      const size_t dot = step.subject.find('.');
      return node_.set_parameter(step.subject.substr(0, dot), step.subject.substr(dot + 1), step.value);
    }
    case Act::Configure: return configure(step);
    case Act::Verify: return node_.verify(target, operation.interfaces);
    case Act::OpenDoor: return node_.open_door();
  }
  return {};
}

bool OperationRunner::is_frozen() const { return may_freeze_ && cancellation_.frozen(); }

// Nullopt: the daemon stops, or somebody put on a brake. Otherwise who is left.
std::optional<InUse> OperationRunner::wait_for_users(std::chrono::milliseconds at_most) {
  const auto deadline = clock_.steady() + at_most;
  for (;;) {
    InUse use = node_.find_users();
    if (!use.in_use() || clock_.steady() >= deadline) return use;
    if (pause_(kLookForUsers) || cancellation_.cancelled() || is_frozen()) return std::nullopt;
  }
}

Acted OperationRunner::end_users(const Target& target) {
  const auto in_use = [](const InUse& use) {
    return tl::unexpected(StepError{kInUse, "Onload is in use by " + describe(use)});
  };
  const auto broken_off = [this] {
    if (cancellation_.cancelled()) return tl::unexpected(cancelled());
    return tl::unexpected(is_frozen() ? frozen() : StepError{kStopping, "the daemon stops", {}, {}});
  };
  std::optional<InUse> use = wait_for_users(target.users == UsersPolicy::Fail ? std::chrono::seconds(0) : target.drain);
  if (!use) return broken_off();
  for (const Host::Force force : {Host::Force::Term, Host::Force::Kill}) {
    if (!use->in_use()) return {};
    const bool allowed =
        force == Host::Force::Term ? target.users >= UsersPolicy::Term : target.users == UsersPolicy::Kill;
    if (!allowed) break;
    for (const User& user : use->users) {
      if (const Acted ended = node_.end_user(user.process, force); !ended) return ended;
    }
    use = wait_for_users(kGrace);
    if (!use) return broken_off();
  }
  if (use->in_use()) return in_use(*use);
  return {};
}

}  // namespace nrd::onload
