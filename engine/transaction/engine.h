// Owns hardware, store and working state on one thread. All other threads submit commands and read the published
// NodeState.
//
// Commands that wait together share one commit. `done` is called exactly once for each command, on the engine thread,
// after the commit and after the new state is published; with Busy on the caller's, if the queue is full or the engine
// stops. It must not block.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "base/client.h"
#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/result.h"
#include "engine/model/fwd.h"
#include "engine/model/setting_changes.h"
#include "engine/model/workload.h"
#include "engine/transaction/command.h"
#include "engine/usage.h"

namespace nrd::store {
class Store;
struct DocumentChange;
}  // namespace nrd::store

namespace nrd {

struct EngineConfig;

// The state after the change, and the workload in it (before the change, for a delete). Of a dry run: the
// state as it is, and the workload as it would be; a new one has no final id yet.
struct Done {
  std::shared_ptr<const NodeState> state{};
  Workload workload;
  bool is_new = false;                  // created by the command, not an earlier one
  std::optional<uint64_t> operation{};  // the rest of the change follows when it has moved memory
  std::vector<KnobChange> changes{};    // of a dry run: what would change
};

enum class ReloadMode { Apply, Check };

struct EngineOptions {
  std::chrono::milliseconds begin_deadline{10000};  // a command not begun by then is withdrawn (ErrorCode::Busy)
  std::function<CpuSet()> changed_cpus{};           // that went online or offline since the last call; must not block
  std::function<void()> published{};                // after each new state, on the engine thread; must not block
};

class Engine {
 public:
  // Loads the store, converges the hardware to it, publishes. Fails if the store cannot be read or the configuration
  // does not fit the node; hardware that refuses is reported in NodeState::health, not here.
  static Result<std::unique_ptr<Engine>> start(Hardware& hardware, store::Store& store, const Clock& clock,
                                               EngineConfig config, EngineOptions options = {});
  virtual ~Engine() = default;  // finishes commands already accepted; the hardware stays as it is

  virtual std::shared_ptr<const NodeState> state() const = 0;
  // From any thread. A command whose client has disconnected is not begun.
  virtual void submit(Command command, Callback<Done> done) = 0;
  // Checks and plans `command` as submit() does, on a fresh observation, and changes nothing. From any thread; `done`
  // as above.
  virtual void dry_run(Command command, Callback<Done> done) = 0;
  // The workload created with this key, after the commands submitted before. NotFound: the key was not used. From any
  // thread; `done` as above.
  virtual void find_created(IdempotencyKey key, Callback<Done> done) = 0;
  // Stores the progress of an operation in a commit of its own; `done` as above. From any thread.
  virtual void record(store::DocumentChange operations, std::function<void(Result<void>)> done) = 0;
  // Takes the configuration whole, or fails and keeps the present one: BadRequest if it does not fit the node, Conflict
  // if workloads have ways that their pool would lose. From any thread; `done` as above.
  virtual void reconfigure(EngineConfig config, ReloadMode mode, std::function<void(Result<void>)> done) = 0;
  // `changed_cpus` has news: apply classes, ways and frequencies of these CPUs at once. From any thread.
  virtual void refresh_cpus() = 0;
  // Cache and memory bandwidth usage of workloads, at most one interval old; `clos` is the class in question. From any
  // thread; `done` is called here or on the engine thread.
  virtual void sample_usage(ClosId clos, Sampler::Done done) = 0;
  // The last sample of any age, null if there is none; triggers the next one. Never waits.
  virtual std::shared_ptr<const UsageSample> last_usage() = 0;
  // Advances with each iteration of the engine's loop, for a watchdog: it stops if the thread hangs in hardware.
  virtual std::chrono::steady_clock::time_point last_beat() const = 0;
};

}  // namespace nrd
