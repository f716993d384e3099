// Part of the transaction: the commit, and recovery of hardware and state when its outcome is unknown.
#include "base/invariant.h"
#include "base/log.h"
#include "engine/transaction/transaction.h"

namespace nrd {

Result<void> Transaction::record(store::OnloadChange change) {
  if (unknown_) {
    TRY(resolve_unknown());
  }
  store::Change whole;
  whole.onload = std::move(change);
  return commit(std::move(whole), Part::Baselines);
}

Result<void> Transaction::commit_workloads() {
  store::Change change;
  for (const auto& [id, workload] : state_.workloads) {
    const auto old = stored_.workloads.find(id);
    if (old == stored_.workloads.end() || old->second != workload) change.put.push_back(to_record(workload));
  }
  for (const auto& [id, workload] : stored_.workloads) {
    if (!state_.workloads.contains(id)) change.removed.push_back(id);
  }
  // Store a key even if the next command has already deleted its workload.
  if (change.put.empty() && change.removed.empty() && !keys_.has_added()) {
    stored_.next_id = state_.next_id;
    return {};
  }
  keys_.write_to(change, now());
  drop_restored_baselines(change);
  return commit(std::move(change), Part::All);
}

// Returns whether the hardware has to follow.
bool Transaction::return_to_stored(Part part) {
  if (part == Part::Baselines) {
    state_.baselines = stored_.baselines;
    state_.revision = stored_.revision;
    return false;
  }
  const bool has_moved = stored_.workloads != state_.workloads;
  state_.durable() = stored_;
  return has_moved;
}

// Commits `change`, which leads from stored_ to this part of state_.
Result<void> Transaction::commit(store::Change change, Part part) {
  DurableState after = part == Part::All ? state_.durable() : stored_;
  after.baselines = state_.baselines;
  after.revision = stored_.revision + 1;
  change.next_id = after.next_id;
  const auto begun = clock_.steady();
  const store::CommitOutcome outcome = store_.commit(change);
  state_.timings.commit.add(clock_.steady() - begun);
  switch (outcome.committed) {
    case store::Committed::Done:
      stored_ = std::move(after);
      state_.revision = stored_.revision;
      return {};
    case store::Committed::NotDone:
      log::error("COMMIT_NOT_DONE", "commit failed and was rolled back; nothing changed", {{"DETAIL", outcome.detail}});
      if (return_to_stored(part)) rollback();
      return fail(ErrorCode::Store, "the change could not be stored and was rolled back; check for free disk space",
                  outcome.detail);
    case store::Committed::Unknown: break;
  }
  log::error("COMMIT_UNKNOWN", "commit outcome unknown after an I/O error; reopening the store",
             {{"DETAIL", outcome.detail}});
  unknown_ = {std::move(after), part};
  return resolve_unknown();
}

// Reopens the store to find out whether it contains the change, and converges the hardware to what it holds. Success
// means that the change is stored.
Result<void> Transaction::resolve_unknown() {
  INVARIANT(unknown_);
  const Result<uint64_t> revision = store_.reopen();
  if (!revision) {
    // Readers keep the acknowledged state, and the hardware keeps applying it.
    state_.health.writes_frozen = true;
    unknown_->part = Part::All;
    if (return_to_stored(Part::All)) rollback();
    log::error("WRITES_FROZEN", "cannot reopen the store; changes are rejected until it can be read",
               {{"DETAIL", revision.error().detail}});
    return fail(ErrorCode::Frozen,
                "I/O error while storing the change; its outcome is unknown until the store can be read",
                revision.error().detail);
  }
  const bool done = *revision == unknown_->after.revision;
  if (done) stored_ = std::move(unknown_->after);
  stored_.revision = *revision;
  const Part part = unknown_->part;
  unknown_.reset();
  return_to_stored(part);
  const bool was_frozen = std::exchange(state_.health.writes_frozen, false);
  if (part == Part::All) {
    if (const Result<store::Records> records = store_.load()) keys_.load(records->keys);
  }
  rollback();
  log::notice("COMMIT_RESOLVED", done ? "the store contains the change" : "the store does not contain the change");
  if (done || was_frozen) return {};
  return fail(ErrorCode::Store, "the change could not be stored and was rolled back; check the disk for errors");
}

}  // namespace nrd
