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
// Other work of the engine thread follows the same steps with the same parts: Claims, HardwareSync, Commits.
#pragma once

#include <span>
#include <vector>

#include "engine/transaction/drift.h"
#include "engine/transaction/engine.h"
#include "engine/transaction/reconfigure.h"
#include "engine/transaction/task_reaper.h"

namespace nrd {

// What a command did: the workload after it, before it for a delete.
struct Applied {
  Workload workload;
  bool is_new = false;  // created by the command, not by an earlier one with the same key
};

class Transaction {
 public:
  Transaction(Hardware& hardware, store::Store& store, const Clock& clock, const EngineOptions& options);
  Transaction(const Transaction&) = delete;  // its parts refer to each other

  // Start after stop, crash or reboot: converges the hardware to the stored state.
  Result<void> recover();
  // One outcome for each command, in order; all share one commit. The publisher fills in `Done::state`.
  std::vector<Result<Applied>> apply(std::span<const Command> commands);
  // The workload created with this key. NotFound: the key was not used.
  Result<Workload> find_created(const IdempotencyKey& key);
  // Commits on its own.
  Result<void> record(store::DocumentChange onload);
  // Another configuration of the node's resources; ReloadMode::Check changes nothing.
  Result<void> reconfigure(const NodeConfig& config, ReloadMode mode) {
    return mode == ReloadMode::Check ? reconfigure_.check(config) : reconfigure_.apply(config);
  }
  void repair() { drift_.repair({}); }
  // True if the partition of the configuration has become invalid, or valid again, since the last observation.
  bool has_partition_changed() const;
  // Repairs after these CPUs went online or offline. False: some grants are not applied yet.
  bool serve_hotplug(const CpuSet& changed);
  void reap_tasks() { reaper_.reap(); }
  // False if no CPU is monitored.
  bool govern_frequencies() { return governor_.govern(); }

  const NodeState& state() const { return state_; }

 private:
  Result<Workloads> plan(const Command& command);
  Result<Proposal> plan_on_fresh_observation(const Command& command);
  Result<std::optional<WorkloadId>> created_with(const IdempotencyKey& key) const;
  Result<void> check_revision(const Command& command) const;
  void note_created(const Spec& spec, const std::optional<IdempotencyKey>& key);
  Result<WorkloadId> target_of(const Command& command) const;
  Result<WorkloadId> apply_one(const Command& command);
  Result<WorkloadId> try_one(const Command& command);
  Result<void> carry_out(Proposal proposal);

  Hardware& hardware_;
  const Clock& clock_;
  NodeState state_;
  HardwareSync sync_;
  Commits commits_;
  Claims claims_;
  ExternalFrequencies externals_;
  FrequencyGovernor governor_;
  ForeignGroupWatch groups_;
  ConflictWatch conflicts_;
  TaskReaper reaper_;
  Drift drift_;
  Reconfigure reconfigure_;
};

}  // namespace nrd
