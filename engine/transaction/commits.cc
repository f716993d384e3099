#include "engine/transaction/commits.h"

#include <utility>

#include "base/invariant.h"
#include "base/log.h"
#include "engine/model/baselines.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_noise.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "engine/model/documents.h"
#include "engine/model/node_state.h"
#include "engine/model/setting.h"
#include "engine/transaction/hardware_sync.h"
#include "store/store.h"

namespace nrd {

Result<void> Commits::load() {
  const store::Records records = TRY(store_.load());
  std::vector<Workload> workloads;
  for (const store::WorkloadRow& row : records.workloads) {
    workloads.push_back(TRY(from_row(row)));
  }
  state_.workloads = Workloads(std::move(workloads));
  state_.next_id = records.next_id;
  state_.revision = records.revision;
  if (records.boot_id == state_.facts.boot_id) state_.baselines = TRY(baselines_of(records.baselines));
  keys_.load(records.keys);
  stored_ = state_.durable();
  return {};
}

void Commits::forget_baselines() { state_.baselines = stored_.baselines = {}; }

Result<void> Commits::commit_workloads() {
  store::Change change;
  for (const Workload* changed : state_.workloads.changed_since(stored_.workloads)) {
    change.put.push_back(to_row(*changed));
  }
  for (const auto& [id, workload] : stored_.workloads) {
    if (!state_.workloads.contains(id)) change.removed.push_back(id);
  }
  // Store a key even if the next command has already deleted its workload.
  if (change.put.empty() && change.removed.empty() && !keys_.has_added()) {
    stored_.next_id = state_.next_id;
    return {};
  }
  keys_.write_to(change, key_time());
  drop_restored();
  return commit(std::move(change), Part::All);
}

Result<void> Commits::commit_baselines(store::Change change) { return commit(std::move(change), Part::Baselines); }

namespace {

// Sources that run elsewhere now, are gone, or cannot be moved: not those that are to move back. Not if none could be
// observed.
size_t drop_moved_noise(Baselines& baselines, const cpuset::Setting& used, const Observed& observed) {
  if (observed.cpuset.noise.empty()) return 0;
  return std::erase_if(baselines.noise, [&used](const auto& claim) {
    return !used.noise.contains(claim.first) && !used.restored_noise.contains(claim.first);
  });
}

}  // namespace

void Commits::release_restored() {
  if (!drop_restored()) return;
  // If this commit fails they are restored once more, and the next run tries again.
  [[maybe_unused]] const Result<void> committed = commit({}, Part::Baselines);
}

// Returns whether there was one.
bool Commits::drop_restored() {
  Baselines& baselines = state_.baselines;
  if (!sync_.is_in_sync()) return false;
  const CpuSet restored = released_frequencies(state_) - sync_.pending_restore();
  std::vector<TaskClaim> finished;
  if (!baselines.tasks.empty()) finished = finished_task_claims(state_);
  if (!restored.empty()) {
    std::map<CpuId, FrequencyClaim>& claimed = baselines.frequencies.edit();
    for (const CpuId cpu : restored.members()) {
      claimed.erase(cpu);
      baselines.frequencies_of_others.erase(cpu);
    }
  }
  for (const TaskClaim& claim : finished) baselines.tasks.erase(claim);
  const auto is_not_in = [](const auto& used) {
    return [&used](const auto& claim) { return !used.contains(claim.first); };
  };
  cpuset::Setting used = cpu_setting_of(state_);
  for (const cpuset::Target& target : waiting_targets(state_)) used.limited.try_emplace(target);
  used.shares = shares_in_use(state_);
  used.memory = bound_memory(state_);
  for (const cpuset::Target& target : absent_units(state_)) {
    used.limited.try_emplace(target);
    used.shares.try_emplace(target);
    used.memory.try_emplace(target);
  }
  used.latency = latency_in_use(state_);
  add_noise(used, state_);
  cpuset::Setting present;
  add_memory(present, state_);
  const auto is_released = [&](const auto& claim) {
    const auto& [target, own] = claim;
    const bool is_gone_or_restored = is_gone(state_, target) || present.restored_memory.contains(target);
    return !used.memory.contains(target) && is_gone_or_restored;
  };
  const size_t ended =
      std::erase_if(baselines.cpu_sets, is_not_in(used.limited)) +
      std::erase_if(baselines.cpu_shares, is_not_in(used.shares)) + std::erase_if(baselines.memory, is_released) +
      std::erase_if(baselines.latency, is_not_in(used.latency)) + drop_moved_noise(baselines, used, state_.observed);
  const bool has_returned_masks = baselines.pinned != stored_.baselines.pinned;
  return !restored.empty() || !finished.empty() || ended > 0 || has_returned_masks;
}

// Returns whether the hardware has to follow.
bool Commits::return_to_stored(Part part) {
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
Result<void> Commits::commit(store::Change change, Part part) {
  DurableState after = part == Part::All ? state_.durable() : stored_;
  after.next_id = state_.next_id;  // a number that a claim has used stays used
  after.baselines = state_.baselines;
  after.revision = stored_.revision + 1;
  change.next_id = after.next_id;
  change.baselines = changes_between(stored_.baselines, after.baselines);
  const auto begun = clock_.steady();
  const store::CommitOutcome outcome = store_.commit(change);
  state_.latencies.commit.add(clock_.steady() - begun);
  if (outcome.committed != store::Committed::Done) ++state_.health.failed_commits;
  switch (outcome.committed) {
    case store::Committed::Done:
      stored_ = std::move(after);
      state_.revision = stored_.revision;
      return {};
    case store::Committed::NotDone:
      log::error("COMMIT_NOT_DONE", "commit failed and was rolled back; nothing changed", {{"DETAIL", outcome.detail}});
      if (return_to_stored(part)) sync_.rollback();
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
// means that the change is stored, or, once writes were frozen, that the outcome is known.
Result<void> Commits::resolve_unknown() {
  INVARIANT(unknown_);
  const Result<uint64_t> revision = store_.reopen();
  if (!revision) {
    // Readers keep the acknowledged state, and the hardware keeps applying it.
    if (!std::exchange(state_.health.writes_frozen, true)) {  // not at each retry
      log::error("WRITES_FROZEN", "cannot reopen the store; changes are rejected until it can be read",
                 {{"DETAIL", revision.error().detail}});
    }
    unknown_->part = Part::All;
    if (return_to_stored(Part::All)) sync_.rollback();
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
  if (part == Part::All) {
    if (const Result<store::Records> records = store_.load()) keys_.load(records->keys);
  }
  const bool was_frozen = std::exchange(state_.health.writes_frozen, false);
  sync_.rollback();
  log::notice("COMMIT_RESOLVED", done ? "the store contains the change" : "the store does not contain the change");
  if (done || was_frozen) return {};
  return fail(ErrorCode::Store, "the change could not be stored and was rolled back; check the disk for errors");
}

}  // namespace nrd
