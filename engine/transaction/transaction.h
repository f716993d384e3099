// A transaction: plan, claim, converge, commit. Implemented once, here; engine.cc adds the thread and the queue.
//
// The effect of a power cut (or kill -9) after each step, and of the next start:
//
//   after     store                 hardware              after the next start
//   plan      before                before                before
//   claim     before, baselines     before                before
//   converge  before, baselines     after (or partly)     before: owned settings match the stored workloads
//   commit    after                 after                 after
//
// The answer follows the commit, so an acknowledged change is in the last row; an unacknowledged one is either there
// too (the client may ask) or nowhere.
//
// A change that must move memory first (memory_changes.h) is planned, then applied in the same way when that has ended.
//
// Other work of the engine thread follows the same steps with the same parts: Claims, HardwareSync, Commits.
#pragma once

#include <span>
#include <vector>

#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/transaction/claims.h"
#include "engine/transaction/commits.h"
#include "engine/transaction/drift.h"
#include "engine/transaction/engine.h"
#include "engine/transaction/external_frequencies.h"
#include "engine/transaction/foreign_group_watch.h"
#include "engine/transaction/frequency_governor.h"
#include "engine/transaction/hardware_sync.h"
#include "engine/transaction/memory_changes.h"
#include "engine/transaction/reconfigure.h"
#include "engine/transaction/task_reaper.h"
#include "engine/transaction/workload_changes.h"

namespace nrd {

class Transaction {
 public:
  // `memory_changed` is called by another thread when finish_memory_changes() has something to do.
  Transaction(Hardware& hardware, store::Store& store, const Clock& clock, NodeConfig config,
              std::function<void()> memory_changed = {});
  Transaction(const Transaction&) = delete;  // its parts refer to each other

  // Start after stop, crash or reboot: converges the hardware to the stored state.
  Result<void> recover();
  // One outcome for each command, in order; all share one commit. The publisher fills in `Done::state`, here and below.
  // Calls `may_begin` before each command but the first. Once it returns false, the remaining commands are not begun
  // and have no outcomes.
  std::vector<Result<Done>> apply(
      std::span<const Command> commands, const std::function<bool()>& may_begin = [] { return true; });
  // What `command` would do now. Observes, and writes nothing.
  Result<Done> dry_run(const Command& command);
  // The workload created with this key. NotFound: the key was not used.
  Result<Done> find_created(const IdempotencyKey& key);
  // Commits on its own.
  Result<void> record(store::DocumentChange operations);
  // Another configuration of the node's resources; ReloadMode::Check changes nothing.
  Result<void> reconfigure(const NodeConfig& config, ReloadMode mode) {
    return mode == ReloadMode::Check ? reconfigure_.check(config) : reconfigure_.apply(config);
  }
  void repair();
  bool has_ended_memory_change() const { return memory_.has_ended(); }
  // Ends operations whose memory has moved, and begins the next.
  void finish_memory_changes();
  // Returns by `until`, even if the kernel still moves memory.
  void stop_memory_changes(std::chrono::steady_clock::time_point until) { memory_.stop(until); }
  // Notes that the partition of the configuration has become invalid, or valid again, and with which cause. False: it
  // has not since the last observation.
  bool note_partition();
  // As of the last observation.
  bool has_invalid_partition() const;
  // Repairs after these CPUs went online or offline. False: some grants are not applied yet.
  bool serve_hotplug(const CpuSet& changed);
  void reap_tasks() { reaper_.reap(); }
  // False if no CPU is monitored.
  bool govern_frequencies() { return governor_.govern(); }

  const NodeState& state() const { return state_; }

 private:
  // The workload of a command, and the part that waits until memory has moved.
  struct Tried {
    WorkloadId id;
    std::optional<Deferred> deferred{};
  };

  Result<Workloads> plan(const Command& command);
  Result<Proposal> plan_on_fresh_observation(const Command& command);
  Result<std::optional<WorkloadId>> created_with(const IdempotencyKey& key) const;
  void note_created(const Workload& created);
  void skip_chosen_ids();
  Result<WorkloadId> target_of(const Command& command);
  Result<Tried> apply_one(const Command& command);
  Result<Tried> try_one(const Command& command);
  std::optional<cpuset::MemoryChange> move_before(const Command& command, const Proposal& proposal,
                                                  WorkloadId id) const;
  // After the commit: each has the workload as committed, or the error of the commit.
  void settle(std::vector<Result<Done>>& outcomes, std::span<const Command> commands,
              const Result<void>& committed) const;
  void begin_operations(std::vector<Result<Done>>& outcomes, std::vector<std::optional<Deferred>> deferred);
  Result<void> apply_moved(const Command& command, const cpuset::MemoryChange& moved);

  Hardware& hardware_;
  const Clock& clock_;
  NodeState state_;
  HardwareSync sync_;
  Commits commits_;
  Claims claims_;
  ExternalFrequencies externals_;
  FrequencyGovernor governor_;
  ForeignGroupWatch groups_;
  WorkloadChanges changes_;
  TaskReaper reaper_;
  Drift drift_;
  Reconfigure reconfigure_;
  MemoryChanges memory_;
};

}  // namespace nrd
