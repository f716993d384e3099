// Part of the transaction: the commit, and recovery of hardware and state when its outcome is unknown.
#include "base/invariant.h"
#include "base/log.h"
#include "engine/transaction/transaction.h"

namespace nrd {

Result<void> Transaction::record(store::OnloadChange change) {
  if (before_unknown_) {
    TRY(resolve_unknown());
  }
  store::Change whole;
  whole.next_id = next_id_;
  whole.onload = std::move(change);
  return commit(std::move(whole), {state_.workloads, state_.baselines});
}

// The outcome of a claim is unknown, so nothing of this batch was committed: roll all of it back.
std::vector<Result<Workload>> Transaction::all_frozen(std::vector<Result<Workload>> outcomes,
                                                      const plan::Workloads& before) {
  keys_.drop_added();
  before_unknown_->workloads = before;
  after_unknown_->workloads = before;
  state_.workloads = before;
  rollback();
  for (Result<Workload>& outcome : outcomes) {
    if (outcome) outcome = fail(ErrorCode::Frozen, "store state unknown; change rejected, try again");
  }
  return outcomes;
}

Result<void> Transaction::commit_workloads(const plan::Workloads& before) {
  store::Change change;
  change.next_id = next_id_;
  for (const auto& [id, workload] : state_.workloads) {
    const auto old = before.find(id);
    if (old == before.end() || old->second != workload) change.put.push_back(to_record(workload));
  }
  for (const auto& [id, workload] : before) {
    if (!state_.workloads.contains(id)) change.removed.push_back(id);
  }
  // Store a key even if the next command has already deleted its workload.
  if (change.put.empty() && change.removed.empty() && !keys_.has_added()) return {};
  keys_.write_to(change, now());
  // Claims made by commands of this batch are on disk, whatever happens to the workloads.
  const Baselines claimed = state_.baselines;
  drop_restored_baselines(change);
  return commit(std::move(change), {before, claimed});
}

// Commits `change`, which leads from `before` to state_. On NotDone, state_ and the hardware return to `before`.
Result<void> Transaction::commit(store::Change change, const Before& before) {
  const auto begun = clock_.steady();
  const store::CommitOutcome outcome = store_.commit(change);
  state_.timings.commit.add(clock_.steady() - begun);
  switch (outcome.committed) {
    case store::Committed::Done: ++state_.revision; return {};
    case store::Committed::NotDone: {
      log::error("COMMIT_NOT_DONE", "commit failed and was rolled back; nothing changed", {{"DETAIL", outcome.detail}});
      const bool hardware_moved = before.workloads != state_.workloads;
      state_.workloads = before.workloads;
      state_.baselines = before.baselines;
      if (hardware_moved) rollback();
      return fail(ErrorCode::Store, "the change could not be stored and was rolled back; check for free disk space",
                  outcome.detail);
    }
    case store::Committed::Unknown: break;
  }
  log::error("COMMIT_UNKNOWN", "commit outcome unknown after an I/O error; reopening the store",
             {{"DETAIL", outcome.detail}});
  before_unknown_ = after_unknown_ = state_;
  before_unknown_->workloads = before.workloads;
  before_unknown_->baselines = before.baselines;
  return resolve_unknown();
}

// Reopens the store to find out which of the two states it contains, and converges the hardware to that one. Success
// means that the change is stored.
Result<void> Transaction::resolve_unknown() {
  INVARIANT(before_unknown_ && after_unknown_);
  const Result<uint64_t> revision = store_.reopen();
  if (!revision) {
    state_.health.writes_frozen = true;
    // Readers keep the acknowledged state, and the hardware keeps applying it.
    const bool hardware_moved = before_unknown_->workloads != state_.workloads;
    state_.workloads = before_unknown_->workloads;
    if (hardware_moved) rollback();
    log::error("WRITES_FROZEN", "cannot reopen the store; changes are rejected until it can be read",
               {{"DETAIL", revision.error().detail}});
    return fail(ErrorCode::Frozen,
                "I/O error while storing the change; its outcome is unknown until the store can be read",
                revision.error().detail);
  }
  const bool was_frozen = state_.health.writes_frozen;
  const bool done = *revision == after_unknown_->revision + 1;
  NodeState resolved = done ? *std::move(after_unknown_) : *std::move(before_unknown_);
  before_unknown_.reset();
  after_unknown_.reset();
  resolved.observed = state_.observed;
  resolved.made_groups = state_.made_groups;
  resolved.facts = state_.facts;
  resolved.layout = state_.layout;
  resolved.l2_layout = state_.l2_layout;
  resolved.governors = std::move(state_.governors);
  resolved.uncounted = state_.uncounted;
  resolved.current = std::move(state_.current);
  resolved.timings = state_.timings;
  resolved.health = state_.health;
  resolved.health.writes_frozen = false;
  resolved.revision = *revision;
  state_ = std::move(resolved);
  // The id of a stored create is used up; that of one that was not stored may be assigned again.
  if (const Result<store::Records> records = store_.load()) {
    next_id_ = records->next_id;
    keys_.load(records->keys);
  }
  rollback();
  log::notice("COMMIT_RESOLVED", done ? "the store contains the change" : "the store does not contain the change");
  if (done || was_frozen) return {};
  return fail(ErrorCode::Store, "the change could not be stored and was rolled back; check the disk for errors");
}

}  // namespace nrd
