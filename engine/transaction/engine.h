// The one writer. A thread of its own owns hardware, store and working state; everybody else submits commands and reads
// the published NodeState.
//
// Commands that wait together share one commit. `done` is called exactly once for each command, on the engine thread,
// after the commit and after the new state is published; it must not block.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <variant>

#include "base/client.h"
#include "base/clock.h"
#include "base/fair_queue.h"
#include "base/result.h"
#include "engine/hardware.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"
#include "engine/transaction/idempotency.h"
#include "engine/usage_sampler.h"
#include "store/store.h"

namespace nrd {

// Only while the workload has one of these revisions, else ErrorCode::Stale; nullopt: whichever it has.
using IfRevision = std::optional<std::vector<uint64_t>>;

struct CreateWorkload {
  Spec spec;
  std::optional<IdempotencyKey> key{};  // a workload that was created under it is the outcome
  bool only_asks = false;               // whether there is one; ErrorCode::NotFound: there is none, and none is created
};
struct PatchWorkload {
  WorkloadId id;
  SpecPatch patch;
  IfRevision if_revision{};
};
struct DeleteWorkload {
  WorkloadId id;
  IfRevision if_revision{};
};
using Command = std::variant<CreateWorkload, PatchWorkload, DeleteWorkload>;

// What was done: the state after it, and the workload as it is (as it was, for a delete).
struct Done {
  std::shared_ptr<const NodeState> state;
  Workload workload;
};
using Outcome = Result<Done>;

struct EngineOptions {
  PoolSizes pools;
  bool shrink = false;                   // best effort gives way to newcomers
  std::optional<unsigned> max_shared{};  // workloads in the shared class; nullopt: as many as want to
  ReservedCpus groups{};
  unsigned reserved_classes = 0;  // kept for groups of others
  ForeignGroups foreign_groups = ForeignGroups::Report;
  std::shared_ptr<const Policies> policies{};       // of this microarchitecture; null: there are none
  std::chrono::milliseconds drift_interval{30000};  // 0: never refresh
  std::chrono::milliseconds tasks_interval{30000};  // between looks for tasks that have ended; 0: never refresh
  std::chrono::milliseconds begin_deadline{10000};  // a command not begun by then is withdrawn (ErrorCode::Busy)
  QueueLimits queue{.most = 1024, .reserve = 64, .share = 512};  // more are refused at once (ErrorCode::Busy)
  std::chrono::milliseconds usage_interval{1000};                // of samples, while somebody asks; 0: never sample
  std::function<CpuSet()> changed_cpus{};  // that came or went since it was last asked; must not block
  std::function<void()> published{};       // after each new state, on the engine thread; must not block
};

class Engine {
 public:
  // Loads the store, converges the hardware to what it holds, publishes. Fails if the store cannot be read or the
  // configuration does not fit the node; hardware that refuses is reported in NodeState::health, not here.
  static Result<std::unique_ptr<Engine>> start(Hardware& hardware, store::Store& store, const Clock& clock,
                                               EngineOptions options);
  virtual ~Engine() = default;  // stops: commands already accepted are finished first, the hardware stays as it is

  virtual std::shared_ptr<const NodeState> state() const = 0;
  // From any thread. Not begun for a client that has hung up.
  virtual void submit(Command command, Callback<Done> done) = 0;
  // Stores what the journey of Onload has to record, in a commit of its own; `done` as above. From any thread.
  virtual void record(store::OnloadChange change, std::function<void(Result<void>)> done) = 0;
  // `changed_cpus` has something to give: their classes, ways and frequencies are set at once. From any thread.
  virtual void look_for_cpus() = 0;
  // What workloads use of cache and memory bandwidth, not older than one interval; `clos` is the class that the request
  // is about. From any thread; `done` is called here or on the engine thread.
  virtual void sample_usage(ClosId clos, Sampler::Done done) = 0;
  // The last sample, whatever its age, null if there is none; the next one is taken soon. Never waits.
  virtual std::shared_ptr<const UsageSample> last_usage() = 0;
  // Moves on with every turn of the engine's loop, for a watchdog: a thread that hangs in hardware no longer beats.
  virtual std::chrono::steady_clock::time_point last_beat() const = 0;
};

}  // namespace nrd
