// Runs one operation to its end: observe, ask next_step(), record, act, record, repeat.
//
// A step is stored before it acts and again after it, so a daemon that dies leaves a record; the next one observes the
// node and continues (next_step.h). A failure starts a rollback to the last verified generation, or stops with device
// access closed, as the generation says; a failure during the rollback always stops. While only device access has
// changed, the rollback just reopens it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "engine/onload/host.h"
#include "engine/onload/next_step.h"
#include "engine/onload/spec.h"

namespace nrd::onload {

// Stores the current state of the operation. An error interrupts the run before it acts.
using Record = std::function<Result<void>(const Operation&)>;
// Waits up to the given time; true: the daemon stops. The next start continues the operation.
using Pause = std::function<bool(std::chrono::milliseconds)>;

struct RollbackPlan {
  Target forward;
  std::string missing{};        // why there is no `forward`, for people; empty: there is
  std::optional<Target> back;   // nullopt: no rollback is possible after a change
  uint64_t back_to = 0;         // generation of `back`
  bool foreign_driver = false;  // the previous driver is not nrd's; the rollback restores it
  OnFailure on_failure = OnFailure::Rollback;
  DeviceAccess access_before = DeviceAccess::Open;  // restored if nothing else was changed
};

// Requests that interrupt an operation. Both are checked before each step.
struct Cancellation {
  std::function<bool()> frozen;     // effective until something is changed; device access is then reopened
  std::function<bool()> cancelled;  // starts a rollback, unless one is running
};

// True once more than device access was changed or a verification ran: an unverified state must not remain.
bool has_changed(const Operation& operation);

enum class RunResult { Finished, Interrupted };

class OperationRunner {
 public:
  OperationRunner(Host& node, const Clock& clock, Record record, Pause pause, Cancellation cancellation)
      : node_(node),
        clock_(clock),
        record_(std::move(record)),
        pause_(std::move(pause)),
        cancellation_(std::move(cancellation)) {}

  // Runs or resumes `operation` until its outcome is known.
  Result<RunResult> run(Operation& operation, const RollbackPlan& plan);

 private:
  Result<RunResult> go(Operation& operation, const RollbackPlan& plan);
  // Ends as failed, with device access closed.
  Result<RunResult> give_up(Operation& operation, const Target& target);
  Result<RunResult> finish(Operation& operation, Outcome outcome);
  // Whether a restart may stop the control plane server now: a stack created before device access was closed would have
  // no server.
  Acted check_stacks(const Operation& operation, const NextStep& step, const Target& target);
  // Records and performs one step.
  Result<Acted> take(Operation& operation, const NextStep& step, const Target& target);
  // False: no rollback is possible, or this was one.
  bool turns_back(Operation& operation, const RollbackPlan& plan, const StepError& step_error);
  Acted act(const Operation& operation, const NextStep& step, const Target& target);
  Acted configure(const NextStep& step);
  Acted end_users(const Target& target);
  std::optional<InUse> wait_for_users(std::chrono::milliseconds at_most);
  bool is_frozen() const;

  Host& node_;
  const Clock& clock_;
  Record record_;
  Pause pause_;
  Cancellation cancellation_;
  RunState run_state_;
  bool may_freeze_ = false;  // for the next step
  unsigned tries_left_ = 0;  // retries of removals that failed because of use
};

// "feed (pid 4711, feed.service) and 2 more"
std::string describe(const InUse& use);

}  // namespace nrd::onload
