// Of the writer: the commit, and what becomes of hardware and state when its outcome is not known.
#include "base/invariant.h"
#include "base/log.h"
#include "engine/transaction/transaction.h"

namespace nrd {

Result<void> Transaction::record(store::OnloadChange change) {
  if (before_unknown_) {
    if (Result<void> resolved = resolve_unknown(); !resolved) return resolved;
  }
  store::Change whole;
  whole.next_id = next_id_;
  whole.onload = std::move(change);
  return commit(std::move(whole), {state_.workloads, state_.baselines});
}

// A claim's outcome is unknown, so nothing of this batch was committed: all of it is taken back.
std::vector<Result<Workload>> Transaction::all_frozen(std::vector<Result<Workload>> outcomes,
                                                      const plan::Workloads& before) {
  keys_.drop_added();
  before_unknown_->workloads = before;
  after_unknown_->workloads = before;
  state_.workloads = before;
  rollback();
  for (Result<Workload>& outcome : outcomes) {
    if (outcome) outcome = fail(ErrorCode::Frozen, "the store does not answer clearly; nothing was changed");
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
  // A key is stored even if its workload was deleted by the next command already.
  if (change.put.empty() && change.removed.empty() && !keys_.has_added()) return {};
  keys_.write_to(change, now());
  // Claims made by commands of this batch are on disk whatever becomes of the workloads.
  const Baselines claimed = state_.baselines;
  drop_restored_baselines(change);
  return commit(std::move(change), {before, claimed});
}

// Commits `change`, which leads from `before` to state_. Not done: state_ and the hardware are `before` again.
Result<void> Transaction::commit(store::Change change, const Before& before) {
  const auto begun = clock_.steady();
  const store::CommitOutcome outcome = store_.commit(change);
  state_.timings.commit.add(clock_.steady() - begun);
  switch (outcome.committed) {
    case store::Committed::Done: ++state_.revision; return {};
    case store::Committed::NotDone: {
      log::error("COMMIT_NOT_DONE", "the store did not take a change; nothing was changed",
                 {{"DETAIL", outcome.detail}});
      const bool hardware_moved = before.workloads != state_.workloads;
      state_.workloads = before.workloads;
      state_.baselines = before.baselines;
      if (hardware_moved) rollback();
      return fail(ErrorCode::Store, "the change could not be stored, so nothing was changed; is the disk full?",
                  outcome.detail);
    }
    case store::Committed::Unknown: break;
  }
  log::error("COMMIT_UNKNOWN", "the disk failed while a change was being stored; opening the store anew to see",
             {{"DETAIL", outcome.detail}});
  before_unknown_ = after_unknown_ = state_;
  before_unknown_->workloads = before.workloads;
  before_unknown_->baselines = before.baselines;
  return resolve_unknown();
}

// Asks the store, opened anew, which of the two states it holds, and converges the hardware to that one. Success means
// the change is stored.
Result<void> Transaction::resolve_unknown() {
  INVARIANT(before_unknown_ && after_unknown_);
  const Result<uint64_t> revision = store_.reopen();
  if (!revision) {
    state_.health.writes_frozen = true;
    // Readers keep seeing what was acknowledged, and the hardware keeps saying it.
    const bool hardware_moved = before_unknown_->workloads != state_.workloads;
    state_.workloads = before_unknown_->workloads;
    if (hardware_moved) rollback();
    log::error("WRITES_FROZEN", "the store cannot be opened again; no change is accepted until it can",
               {{"DETAIL", revision.error().detail}});
    return fail(ErrorCode::Frozen,
                "the disk failed while a change was being stored; its outcome is unknown until the store can be read",
                revision.error().detail);
  }
  const bool was_frozen = state_.health.writes_frozen;
  const bool done = *revision == after_unknown_->revision + 1;
  NodeState settled = done ? *std::move(after_unknown_) : *std::move(before_unknown_);
  before_unknown_.reset();
  after_unknown_.reset();
  settled.observed = state_.observed;
  settled.made_groups = state_.made_groups;
  settled.facts = state_.facts;
  settled.layout = state_.layout;
  settled.l2_layout = state_.l2_layout;
  settled.paces = std::move(state_.paces);
  settled.uncounted = state_.uncounted;
  settled.current = std::move(state_.current);
  settled.timings = state_.timings;
  settled.health = state_.health;
  settled.health.writes_frozen = false;
  settled.revision = *revision;
  state_ = std::move(settled);
  // The id of a create that was stored is used up, that of one that was not may be given again.
  if (const Result<store::Records> records = store_.load()) {
    next_id_ = records->next_id;
    keys_.load(records->keys);
  }
  rollback();
  log::notice("COMMIT_RESOLVED", done ? "the store holds the change" : "the store does not hold the change");
  if (done || was_frozen) return {};
  return fail(ErrorCode::Store, "the change could not be stored, so nothing was changed; is the disk failing?");
}

}  // namespace nrd
