// One operation from its first stage to its end: observe, ask next_stage(), record, act, record, and again.
//
// A stage is stored before it acts and its end after, so a daemon that dies leaves a record of what it was about; the
// next one looks at the node and goes on (stage.h). What fails turns the journey back to the generation that was
// verified last, or stops it with the door closed, as the generation asks; what fails on the way back stops it in any
// case. As long as nothing but the door was touched, to go back is to open it again.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "engine/onload/desired.h"
#include "engine/onload/node.h"
#include "engine/onload/stage.h"

namespace nrd::onload {

// Stores the operation as it is now. An error stops the journey where it is: what cannot be stored is not done.
using Record = std::function<Result<void>(const Operation&)>;
// Waits so long, or until the daemon stops; true: it does. The operation is gone on with at the next start.
using Pause = std::function<bool(std::chrono::milliseconds)>;

struct Way {
  Target there;
  std::optional<Target> back;   // nullopt: there is none once something was changed
  uint64_t back_to = 0;         // generation of it
  bool foreign_driver = false;  // the driver there was before is not nrd's, and is wanted again on the way back
  OnFailure on_failure = OnFailure::Rollback;
  Door door_before = Door::Open;  // as it is to be again if nothing else was changed
};

// What stops an operation from outside. Both are asked before each stage.
struct Brakes {
  std::function<bool()> frozen;     // heeded until something is changed; then the door is opened again
  std::function<bool()> cancelled;  // it turns back, unless it does already
};

// More than the door was touched, or looked at: what was not verified is not left so.
bool has_changed(const Operation& operation);

enum class Arrival { Arrived, Interrupted };

class Journey {
 public:
  Journey(Node& node, const Clock& clock, Record record, Pause pause, Brakes brakes)
      : node_(node), clock_(clock), record_(std::move(record)), pause_(std::move(pause)), brakes_(std::move(brakes)) {}

  // Goes on with `operation`, which may be new, until its outcome is known.
  Result<Arrival> run(Operation& operation, const Way& way);

 private:
  Result<Arrival> go(Operation& operation, const Way& way);
  // Failed, with the door shut.
  Result<Arrival> give_up(Operation& operation, const Target& target);
  Result<Arrival> finish(Operation& operation, Outcome outcome);
  // Whether a restart may end the server now: somebody may have come before the door was closed, and would have none.
  Acted check_stacks(const Operation& operation, const Stage& stage, const Target& target);
  // One stage with its records.
  Result<Acted> take(Operation& operation, const Stage& stage, const Target& target);
  // False: there is no way back, or this was it.
  bool turns_back(Operation& operation, const Way& way, const Trouble& trouble);
  Acted act(const Operation& operation, const Stage& stage, const Target& target);
  Acted configure(const Stage& stage);
  Acted end_users(const Target& target);
  std::optional<InUse> wait_for_users(std::chrono::milliseconds at_most);
  Time now() const;
  bool is_frozen() const;

  Node& node_;
  const Clock& clock_;
  Record record_;
  Pause pause_;
  Brakes brakes_;
  Memory memory_;
  bool may_freeze_ = false;  // at the stage that is next
  unsigned tries_left_ = 0;  // of removals that somebody's use kept from being done
};

// "feed (pid 4711, feed.service) and 2 more"
std::string describe(const InUse& use);

}  // namespace nrd::onload
