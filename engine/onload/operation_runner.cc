#include "engine/onload/operation_runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/joined.h"
#include "engine/onload/enum_names.h"
#include "engine/onload/interface_spec.h"
#include "engine/onload/preconditions.h"

namespace nrd::onload {
namespace {

constexpr std::chrono::milliseconds kUserPollInterval{500};
constexpr std::chrono::seconds kGrace{5};  // after a signal
// More than any run needs; exceeding it means no progress, as when another program keeps loading what nrd removes.
constexpr size_t kMostSteps = 200;
constexpr const char* kInUse = "in_use";
constexpr const char* kStopping = "stopping";
constexpr const char* kNoProgress = "circles";
constexpr const char* kFrozen = "frozen";
constexpr const char* kNoVersion = "version";

StepError cancelled() { return {kCancelled, "cancelled by request", {}, {}}; }
StepError frozen() { return {kFrozen, "Onload was frozen before anything was removed", {}, {}}; }

// The first one stays.
void note_cause(Operation& operation, const StepError& step_error) {
  if (!operation.cause.empty()) return;
  operation.cause = step_error.cause;
  operation.message = step_error.message;
}

bool has_closed_access(const Operation& operation) {
  return std::ranges::find(operation.steps, Act::CloseDeviceAccess, &Step::act) != operation.steps.end();
}

// The pending device access work after `steps`. An unfinished step may have been done in part, so repeat it.
RunState access_after(const std::vector<Step>& steps) {
  RunState run_state;
  for (const Step& step : steps) {
    const bool changes_access = step.act == Act::CloseDeviceAccess || step.act == Act::Insert;
    if (step.progress == Progress::Done) {
      remember(run_state, {step.act, step.subject, {}});
    } else if (changes_access) {
      run_state.access_closed = false;
      run_state.access_to_open = true;
    }
  }
  return {.access_closed = run_state.access_closed, .access_to_open = run_state.access_to_open};
}

// The rollback target once more than device access has changed. If a foreign driver was (or may have been) removed,
// restore it as well.
Target undone(const RollbackPlan& plan, const Operation& operation) {
  Target back = *plan.back;
  const auto removes = [](const Step& step) { return step.act == Act::Remove && is_of_driver(step.subject); };
  if (!plan.foreign_driver || std::ranges::none_of(operation.steps, removes)) return back;
  back.reverted_driver.emplace();
  for (const TargetModule& module : plan.forward.modules) {
    if (is_of_driver(module.name)) back.reverted_driver->push_back(module.build_id);
  }
  return back;
}

// The rollback target while only device access has changed.
Target untouched(const RollbackPlan& plan) { return {.state = State::Unmanaged, .device_access = plan.access_before}; }

}  // namespace

bool has_changed(const Operation& operation) {
  return std::ranges::any_of(operation.steps, [](const Step& step) {
    switch (step.act) {
      case Act::CloseDeviceAccess:
      case Act::EndUsers:
      case Act::OpenDeviceAccess: return false;
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
  constexpr size_t kMost = 3;
  std::vector<std::string> found;
  for (const User& user : use.users) {
    found.push_back(
        fmt::format("{} (pid {}{})", user.comm, user.process.pid, user.unit.empty() ? "" : ", " + user.unit));
  }
  for (const auto& [module, modules] : use.foreign_holders) found.push_back("module " + modules.front());
  for (const auto& [module, count] : use.unexplained) {
    found.push_back(fmt::format("{} references to {} from unidentified users", count, module));
  }
  for (const std::string& problem : use.unknown) found.push_back(fmt::format("unidentified users ({})", problem));
  return found.empty() ? fmt::format("{} stacks", use.stacks.size()) : joined_first(kMost, found);
}

Result<RunResult> OperationRunner::finish(Operation& operation, Outcome outcome) {
  operation.outcome = outcome;
  operation.finished = now(clock_);
  return record_(operation).map([] { return RunResult::Finished; });
}

Result<RunResult> OperationRunner::give_up(Operation& operation, const Target& target) {
  // Close the nodes: modules inserted by this operation created them accessible to all.
  if (has_changed(operation)) {
    TRY(take(operation, {Act::CloseDeviceAccess, {}, {}}, target));
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
    // Do not freeze during a rollback or after a change: the node would stay unusable.
    may_freeze_ = !changed && !operation.fallback;
    if (is_frozen() && has_closed_access(operation) && turns_back(operation, plan, frozen())) continue;
    const bool goes_back = operation.fallback && (plan.back || !changed);
    if (!goes_back && !plan.missing.empty()) {
      if (turns_back(operation, plan, {kNoVersion, plan.missing, {}, {}})) continue;
      return give_up(operation, plan.forward);
    }
    const Target target = !goes_back ? plan.forward : changed ? undone(plan, operation) : untouched(plan);
    const ObservedState observed = TRY(node_.observe());
    const std::optional<NextStep> step = next_step(target, observed, run_state_);
    if (!step) return finish(operation, goes_back ? Outcome::RolledBack : Outcome::Succeeded);

    if (step->act == Act::CloseDeviceAccess && is_frozen() && turns_back(operation, plan, frozen())) continue;
    if (step->act == Act::Remove && is_of_driver(step->subject) && operation.interfaces.empty()) {
      operation.interfaces = interfaces_of_driver(observed.interfaces);
    }
    const Acted may = check_stacks(operation, *step, target);
    const Acted acted = TRY(may ? take(operation, *step, target) : Result<Acted>(may));
    if (acted) {
      remember(run_state_, *step);
      continue;
    }
    const StepError& step_error = acted.error();
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
  const bool ends_server = step.act == Act::StopControlPlane && target.restarts_control_plane;
  if (!ends_server || has_changed(operation))
    return {};  // once the change has begun, continue until a server runs again
  const Result<std::vector<Stack>> stacks = node_.stacks();
  if (!stacks) return tl::unexpected(StepError{"unreadable", stacks.error().message, stacks.error().detail, {}});
  const Result<void> checked = check_unserved(*stacks);
  return checked ? Acted() : tl::unexpected(StepError{kInUse, checked.error().message, {}, {}});
}

Result<Acted> OperationRunner::take(Operation& operation, const NextStep& step, const Target& target) {
  operation.steps.push_back({.act = step.act, .subject = step.subject, .started = now(clock_)});
  TRY(record_(operation));
  Acted acted = tl::unexpected(StepError{kNoProgress, "no progress: the node changes faster than nrd can follow"});
  if (operation.steps.size() < kMostSteps || step.act == Act::CloseDeviceAccess) acted = act(operation, step, target);

  Step& record = operation.steps.back();
  record.finished = now(clock_);
  record.progress = Progress::Done;
  if (!acted) {
    const std::string& cause = acted.error().cause;
    const bool was_broken_off = cause == kStopping || cause == kCancelled || cause == kFrozen;
    record.progress = was_broken_off ? Progress::Interrupted : Progress::Failed;
    record.cause = acted.error().cause;
    record.message = acted.error().message;
    record.kernel = acted.error().kernel;
    // It was stored while the step waited; this record must not lose it.
    if (cause == kCancelled) note_cause(operation, acted.error());
  }
  TRY(record_(operation));
  return acted;
}

bool OperationRunner::turns_back(Operation& operation, const RollbackPlan& plan, const StepError& step_error) {
  note_cause(operation, step_error);
  const bool may =
      plan.on_failure == OnFailure::Rollback || step_error.cause == kCancelled || step_error.cause == kFrozen;
  const bool can = plan.back || !has_changed(operation);
  if (operation.fallback || !may || !can || step_error.cause == kNoProgress) return false;
  operation.fallback = plan.back_to;
  run_state_ = access_after(operation.steps);
  tries_left_ = 1;
  return true;
}

// If the interface is gone or renamed, next_step() looks it up again.
Acted OperationRunner::configure(const NextStep& step) {
  const InterfaceSubject subject = parse_subject(step.subject);
  const Result<void> set =
      node_.set_interface(subject.interface, subject.what, *json::parse_name<SwitchState>(step.value));
  if (set || set.error().code == ErrorCode::NotFound) return {};
  return tl::unexpected(StepError{"interface_setting", set.error().message, set.error().detail, {}});
}

Acted OperationRunner::act(const Operation& operation, const NextStep& step, const Target& target) {
  switch (step.act) {
    case Act::CloseDeviceAccess: return node_.close_device_access();
    case Act::EndUsers: return end_users(target);
    case Act::StopControlPlane: return node_.stop_control_plane();
    case Act::Remove: return node_.remove(step.subject);
    case Act::Switch: return node_.switch_to(step.subject);
    case Act::Insert: {
      if (step.value == kSystemDriver) return node_.insert_system_module(step.subject);
      return node_.insert(target.version, *find_module(target, step.subject));
    }
    case Act::SetParameter: {
      const size_t dot = step.subject.find('.');
      return node_.set_parameter(step.subject.substr(0, dot), step.subject.substr(dot + 1), step.value);
    }
    case Act::Configure: return configure(step);
    case Act::Verify: return node_.verify(target, operation.interfaces);
    case Act::OpenDeviceAccess: return node_.open_device_access();
  }
  return {};
}

bool OperationRunner::is_frozen() const { return may_freeze_ && cancellation_.frozen(); }

// Nullopt: stopping, cancelled or frozen. Otherwise the remaining users.
std::optional<InUse> OperationRunner::wait_for_users(std::chrono::milliseconds at_most) {
  const auto deadline = clock_.steady() + at_most;
  for (;;) {
    InUse use = node_.find_users();
    if (!use.in_use() || clock_.steady() >= deadline) return use;
    if (pause_(kUserPollInterval) || cancellation_.cancelled() || is_frozen()) return std::nullopt;
  }
}

Acted OperationRunner::end_users(const Target& target) {
  const auto broken_off = [this] {
    if (cancellation_.cancelled()) return tl::unexpected(cancelled());
    return tl::unexpected(is_frozen() ? frozen() : StepError{kStopping, "the daemon is stopping", {}, {}});
  };
  std::optional<InUse> use = wait_for_users(target.users == UsersPolicy::Fail ? std::chrono::seconds(0) : target.drain);
  if (!use) return broken_off();
  for (const auto& [force, policy] :
       {std::pair(Host::Force::Term, UsersPolicy::Term), std::pair(Host::Force::Kill, UsersPolicy::Kill)}) {
    if (!use->in_use()) return {};
    if (target.users < policy) break;
    for (const User& user : use->users) {
      if (const Acted ended = node_.end_user(user.process, force); !ended) return ended;
    }
    use = wait_for_users(kGrace);
    if (!use) return broken_off();
  }
  if (use->in_use()) return tl::unexpected(StepError{kInUse, "Onload is in use by " + describe(*use)});
  return {};
}

}  // namespace nrd::onload
