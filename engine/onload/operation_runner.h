// One operation from its first step to its end: observe, ask next_step(), record, act, record, and again.
//
// A step is stored before it acts and its end after, so a daemon that dies leaves a record of what it was about; the
// next one looks at the node and goes on (step.h). What fails turns the run back to the generation that was
// verified last, or stops it with the device_access closed, as the generation asks; what fails on the plan back stops
// it in any case. As long as nothing but the device_access was touched, to go back is to open it again.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "engine/onload/host.h"
#include "engine/onload/next_step.h"
#include "engine/onload/spec.h"

namespace nrd::onload {

// Stores the operation as it is now. An error stops the run where it is: what cannot be stored is not done.
using Record = std::function<Result<void>(const Operation&)>;
// Waits so long, or until the daemon stops; true: it does. The operation is gone on with at the next start.
using Pause = std::function<bool(std::chrono::milliseconds)>;

struct RollbackPlan {
  Target there;
  std::optional<Target> back;   // nullopt: there is none once something was changed
  uint64_t back_to = 0;         // generation of it
  bool foreign_driver = false;  // the driver there was before is not nrd's, and is wanted again on the plan back
  OnFailure on_failure = OnFailure::Rollback;
  DeviceAccess access_before = DeviceAccess::Open;  // as it is to be again if nothing else was changed
};

// What stops an operation from outside. Both are asked before each step.
struct Cancellation {
  std::function<bool()> frozen;     // heeded until something is changed; then the device_access is opened again
  std::function<bool()> cancelled;  // it turns back, unless it does already
};

// More than the device_access was touched, or looked at: what was not verified is not left so.
bool has_changed(const Operation& operation);

enum class RunResult { Arrived, Interrupted };

class OperationRunner {
 public:
  OperationRunner(Host& node, const Clock& clock, Record record, Pause pause, Cancellation cancellation)
      : node_(node),
        clock_(clock),
        record_(std::move(record)),
        pause_(std::move(pause)),
        cancellation_(std::move(cancellation)) {}

  // Goes on with `operation`, which may be new, until its outcome is known.
  Result<RunResult> run(Operation& operation, const RollbackPlan& plan);

 private:
  Result<RunResult> go(Operation& operation, const RollbackPlan& plan);
  // Failed, with the device_access shut.
  Result<RunResult> give_up(Operation& operation, const Target& target);
  Result<RunResult> finish(Operation& operation, Outcome outcome);
  // Whether a restart may end the server now: somebody may have come before the device_access was closed, and would
  // have none.
  Acted check_stacks(const Operation& operation, const NextStep& step, const Target& target);
  // One step with its records.
  Result<Acted> take(Operation& operation, const NextStep& step, const Target& target);
  // False: there is no plan back, or this was it.
  bool turns_back(Operation& operation, const RollbackPlan& plan, const StepError& step_error);
  Acted act(const Operation& operation, const NextStep& step, const Target& target);
  Acted configure(const NextStep& step);
  Acted end_users(const Target& target);
  std::optional<InUse> wait_for_users(std::chrono::milliseconds at_most);
  Time now() const;
  bool is_frozen() const;

  Host& node_;
  const Clock& clock_;
  Record record_;
  Pause pause_;
  Cancellation cancellation_;
  RunState run_state_;
  bool may_freeze_ = false;  // at the step that is next
  unsigned tries_left_ = 0;  // of removals that somebody's use kept from being done
};

// "feed (pid 4711, feed.service) and 2 more"
std::string describe(const InUse& use);

}  // namespace nrd::onload
