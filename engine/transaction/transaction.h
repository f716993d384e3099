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
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/plan/grant.h"
#include "engine/transaction/engine.h"
#include "engine/transaction/idempotency.h"

namespace nrd {

class Transaction {
 public:
  Transaction(Hardware& hardware, store::Store& store, const Clock& clock, const EngineOptions& options);

  // Start after stop, crash or reboot: converges the hardware to the stored state.
  Result<void> recover();
  // One outcome for each command, in order; all share one commit. The publisher fills in `Done::state`.
  std::vector<Result<Workload>> apply(std::span<const Command> commands);
  // Commits on its own.
  Result<void> record(store::OnloadChange change);
  // Drift and hotplug: restores granted settings that other software changed, drops claims on unused settings that it
  // changed, and retries what failed before.
  void repair() { repair({}); }
  // The same after these CPUs went online or offline. False: some grants are not applied yet.
  bool serve_hotplug(const CpuSet& changed);
  // Removes exited tasks from workloads, deletes workloads that had nothing else, and moves new threads of known
  // processes.
  void reap_tasks();
  // Samples the branches of monitored CPUs and changes their speed. False if no CPU is monitored.
  bool govern_frequencies();

  const NodeState& state() const { return state_; }

 private:
  template <typename MapByCpu>
  static CpuSet cpus_of(const MapByCpu& by_cpu) {
    CpuSet cpus;
    for (const auto& [cpu, what] : by_cpu) cpus.add(cpu);
    return cpus;
  }
  static void count_revisions(const Workloads& before, Workloads& after);
  static void leave_out_unclaimed(Setting& setting, const Baselines& baselines);
  Time now() const { return std::chrono::floor<std::chrono::milliseconds>(clock_.now()); }
  void repair(const CpuSet& changed);
  Result<void> discover();
  // Observes the hardware: frequencies of these CPUs only, the others keep their last observation; tasks of workloads
  // and of `others`.
  Result<void> refresh_infra();
  Result<void> refresh(const CpuSet& frequencies, const Baselines& others = {});
  void drop_exited();
  Result<Workloads> plan(const Command& command);
  Result<NodeState> plan_on_fresh_observation(const Command& command);
  // Returns whether this observed all groups.
  Result<bool> refresh_foreign_groups();
  void note_removed_groups(const rdt::Setting& setting);
  void drop_taken_claims();
  void remove_leftovers(std::set<ClosId> leftovers);
  std::set<ClosId> seen_twice(const std::set<ClosId>& leftovers);
  void note_sharing();
  using Frequencies = std::map<CpuId, pstate::FrequencySetting>;
  Result<void> record_external(const Setting& wanted, const CpuSet& except);
  void forget_untaken_external(const Frequencies& before, const Setting& ours);
  void store_external(Frequencies of_others);
  Result<void> restore(const NodeState& wanted);
  void note_repaired(const std::vector<std::string>& drifted);
  // These two copy the claims and observations of the present state into `wanted`; copying the whole state for each
  // would cost more than the work itself.
  Result<void> claim(NodeState& wanted);
  // Scope::Changes: only frequencies that differ from the present ones.
  enum class Scope { All, Changes };
  Result<void> converge(NodeState& wanted, Scope scope);
  void rollback();
  Result<std::optional<WorkloadId>> created_before(const Command& command) const;
  Result<void> check_revision(const Command& command) const;
  void note_created(const CreateWorkload& create);
  Result<WorkloadId> apply_one(const Command& command);
  Result<WorkloadId> try_one(const Command& command);
  Result<void> commit_workloads();
  // What a commit stores of state_: between two commits of workloads, claims and releases are committed alone.
  enum class Part { Baselines, All };
  Result<void> commit(store::Change change, Part part);
  bool return_to_stored(Part part);
  Result<void> resolve_unknown();
  void release_unused(const Setting& wanted);
  void note_hardware_problem(const Error& error);
  void note_absent(CpuId cpu);
  void note_absent_cpus();
  void note_pending_restore(CpuId cpu);
  void drop_restored_baselines(store::Change& change);
  std::vector<CpuId> drop_restored_frequencies();
  std::vector<store::TaskClaim> drop_restored_tasks();
  void forget_restored();
  void reset_governor();
  void note_uncounted(CpuSet cpus);
  Result<void> check_counters(const NodeState& wanted);

  Hardware& hardware_;
  store::Store& store_;
  const Clock& clock_;
  EngineOptions options_;
  NodeState state_;
  DurableState stored_;  // of state_, what the store is known to hold
  Idempotency keys_;
  // True if the hardware applied the last setting completely, so that a later difference was caused by other software.
  bool in_sync_ = false;
  std::set<ClosId> leftovers_;                           // at the last refresh
  std::map<WorkloadId, std::set<std::string>> sharing_;  // reported
  // CPUs whose frequency nrd must restore and that were offline or failed.
  CpuSet pending_restore_;
  bool counts_branches_ = false;  // counters may be open
  // A commit whose outcome is unknown; while there is one, nothing is written.
  struct Unknown {
    DurableState after;
    Part part;
  };
  std::optional<Unknown> unknown_;
};

}  // namespace nrd
