// How applications of workloads are started with Onload: the one place of the engine that names it, besides the
// description of a workload (engine/model) and the folder engine/onload.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/requester.h"
#include "engine/transaction/command.h"

namespace nrd {

namespace onload {
struct RenderRequest;
struct LaunchEnvironment;
}  // namespace onload

// Opaque outside of the folders named onload. Null: without Onload.
using LaunchRequest = std::shared_ptr<const onload::RenderRequest>;
using Launch = std::shared_ptr<const onload::LaunchEnvironment>;

// Implemented by engine/onload/workload_launcher.h; an nrd built without Onload has none. Thread-safe. Functions are
// called on the thread of the caller or of the allocations.
class Launcher {
 public:
  virtual ~Launcher() = default;

  // Forbidden at /onload if the client may not use Onload.
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
