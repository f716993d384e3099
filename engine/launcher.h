// What starts applications of workloads with the stack that their clients ask for.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "engine/launch.h"
#include "engine/model/fwd.h"
#include "engine/requester.h"
#include "engine/transaction/command.h"

namespace nrd {

// Implemented by workload_launcher.h; a build without one has none. Thread-safe. Functions are called on the thread of
// the caller or of the allocations.
class Launcher {
 public:
  virtual ~Launcher() = default;

  // Forbidden, with the field, if the client may not use it.
  virtual Result<void> check(const Requester& who) const = 0;

  // Calls `then` with the command, whose spec holds what was admitted. The launch environment holds the workload's
  // place among the allocations; null if the workload in `state` has the same already.
  using Admitted = std::function<void(Result<Command>, Launch)>;
  virtual void admit(const Requester& who, const LaunchRequest& request, const NodeState& state, Command command,
                     const Admitted& then) = 0;

  // The launch environment of a workload that the same request created earlier; null if it is another one by now.
  virtual void replay(const LaunchRequest& request, const Workload& created,
                      const std::function<void(Launch)>& done) = 0;
};

}  // namespace nrd
