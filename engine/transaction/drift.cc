// Of the writer: what it does by itself from time to time, against drift and for tasks that come and go.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "engine/model/baselines.h"
#include "engine/model/setting.h"
#include "engine/transaction/exited_tasks.h"
#include "engine/transaction/transaction.h"

namespace nrd {
namespace {

// The differences between `wanted` and what was observed that others made. A knob that still says what `before` asked
// for differs only because something else is asked for now: the root class gives way to a foreign group that came.
std::vector<std::string> drift(const Setting& before, const Setting& wanted, const Observed& observed) {
  std::set<std::string> changed;
  for (const KnobChange& change : knob_changes(before, observed)) changed.insert(change.knob);
  std::vector<std::string> found;
  for (const KnobChange& change : knob_changes(wanted, observed)) {
    if (changed.contains(change.knob)) found.push_back(text_of(change));
  }
  return found;
}

}  // namespace

// A knob that no workload needs and that somebody else has changed is no longer ours: drop the claim, leave it alone.
void Transaction::release_unused(const Setting& wanted) {
  const Baselines kept = unsettled_baselines(state_);
  if (kept == state_.baselines) return;
  log::notice("CLAIM_DROPPED", "others changed classes or CPUs that no workload needs; leaving them alone",
              {{"WHAT", differences(wanted, state_.observed).front()}});
  const Baselines before = state_.baselines;
  state_.baselines = kept;
  store::Change change;
  change.next_id = next_id_;
  change.new_boot_id = state_.facts.boot_id;
  add_baselines(change, kept);
  // If it is not stored the claim stays, and the next turn tries again.
  [[maybe_unused]] const Result<void> committed = commit(std::move(change), {state_.workloads, before});
}

// A group that exists although nrd removed it was made by others.
void Transaction::drop_taken_claims() {
  const Baselines before = state_.baselines;
  store::Change change;
  change.next_id = next_id_;
  for (const ClosId clos : before.groups) {
    if (state_.made_groups.contains(clos) || !state_.observed.rdt.classes.contains(clos)) continue;
    change.dropped_group_claims.push_back(clos);
    state_.baselines.groups.erase(clos);
  }
  if (change.dropped_group_claims.empty()) return;
  // If it is not stored the claim stays, and the next turn tries again.
  [[maybe_unused]] const Result<void> committed = commit(std::move(change), {state_.workloads, before});
}

// One that is there at two looks is not just being set up by the program that made it.
std::set<ClosId> Transaction::seen_twice(const std::set<ClosId>& leftovers) {
  std::set<ClosId> twice;
  std::ranges::set_intersection(leftovers, leftovers_, std::inserter(twice, twice.end()));
  leftovers_ = leftovers;
  return twice;
}

// Other software needs their classes. They hold nothing, so there is nothing to give back and no claim to make.
void Transaction::remove_leftovers(std::set<ClosId> leftovers) {
  if (leftovers.empty()) return;
  Setting wanted;
  wanted.rdt.removed = std::move(leftovers);
  if (const Result<CpuSet> removed = hardware_.converge(wanted); !removed)
    return note_hardware_problem(removed.error());
  log::notice("GROUPS_REMOVED", "removed empty groups that libpqos or pqos had made",
              {{"COUNT", std::to_string(wanted.rdt.removed.size())}});
  state_.observed = with_applied(std::move(state_.observed), wanted);
}

// Reports what changed since the last time.
void Transaction::note_sharing() {
  if (sharing_.empty() && foreign_groups(state_).empty()) return;
  std::map<WorkloadId, std::set<std::string>> sharing;
  for (const auto& [id, workload] : state_.workloads) {
    std::set<std::string> names = sharing_groups(state_, workload);
    if (!names.empty()) sharing.emplace(id, std::move(names));
  }
  for (const auto& [id, names] : sharing) {
    const auto before = sharing_.find(id);
    if (before != sharing_.end() && before->second == names) continue;
    std::string groups;
    for (const std::string& name : names) groups += (groups.empty() ? "" : " ") + name;
    log::warning("WAYS_SHARED", "resctrl groups of others may fill the ways of a workload",
                 {{"WORKLOAD", id_text(state_.workloads.at(id))}, {"GROUPS", groups}});
  }
  for (const auto& [id, names] : sharing_) {
    const auto workload = state_.workloads.find(id);
    if (workload == state_.workloads.end() || sharing.contains(id)) continue;
    log::notice("WAYS_EXCLUSIVE", "the ways of a workload are its own alone again",
                {{"WORKLOAD", id_text(workload->second)}});
  }
  sharing_ = std::move(sharing);
}

// Those that were owed and have taken what they had.
void Transaction::forget_restored() {
  if (state_.baselines.frequencies.empty() && state_.baselines.tasks.empty()) return;
  const Baselines before = state_.baselines;
  store::Change change;
  change.next_id = next_id_;
  drop_restored_baselines(change);
  if (change.dropped_frequency_baselines.empty() && change.dropped_task_claims.empty()) return;
  // If it is not stored they are put back once more, and the next turn tries again.
  [[maybe_unused]] const Result<void> committed = commit(std::move(change), {state_.workloads, before});
}

void Transaction::reap_tasks() {
  if (!names_tasks(state_) || (before_unknown_ && !resolve_unknown())) return;
  const Result<void> looked = refresh_infra().and_then([this] { return refresh({}); });
  if (!looked) return note_hardware_problem(looked.error());
  drop_exited();
  if (const Result<void> claimed = claim(state_); !claimed) return note_hardware_problem(claimed.error());
  // Processes of the infrastructure that came, and threads that came to a process and are elsewhere. What else differs
  // is drift, and repair()'s to mend and to count.
  Setting wanted = tasks_of(setting_of(state_));
  leave_out_unclaimed(wanted, state_.baselines);
  if (in_sync_ && !differences(wanted, state_.observed).empty()) {
    const Result<CpuSet> moved = hardware_.converge(wanted);
    in_sync_ = moved.has_value();
    if (!moved) return note_hardware_problem(moved.error());
    state_.observed = with_applied(std::move(state_.observed), wanted);
  }
  if (!before_unknown_) forget_restored();
}

// What cannot be done now is tried again at the next turn: who has ended stays so.
void Transaction::drop_exited() {
  ExitedTasks exited = without_exited(state_, now());
  if (exited.of.empty()) return;
  const plan::Workloads before = state_.workloads;
  count_revisions(before, exited.workloads);
  NodeState wanted = state_;
  wanted.workloads = exited.workloads;
  const Result<void> converged = claim(wanted).and_then([&] { return converge(wanted, Scope::Changes); });
  if (!converged) {
    log::error("CONVERGE_FAILED", converged.error().message, {{"DETAIL", converged.error().detail}});
    if (!before_unknown_) rollback();
    return;
  }
  state_.workloads = std::move(wanted.workloads);
  reset_governor();
  if (commit_workloads(before)) log_exited(before, exited);
}

bool Transaction::serve_hotplug(const CpuSet& changed) {
  repair(changed);
  return in_sync_ &&
         std::ranges::all_of(state_.workloads, [this](const auto& entry) { return is_applied(state_, entry.second); });
}

void Transaction::repair(const CpuSet& changed) {
  if (before_unknown_ && !resolve_unknown()) return;
  const std::string boot_id = state_.facts.boot_id;
  const CpuSet online = state_.facts.rdt.online;
  const Setting before = setting_of(state_);
  const Result<void> found = discover().and_then([this] { return refresh_infra(); }).and_then([this] {
    return refresh(cpus_of(state_.facts.pstate.cpus));
  });
  if (!found) return note_hardware_problem(found.error());
  if (state_.facts.boot_id != boot_id) {
    state_.baselines = {};
    state_.made_groups.clear();
  }
  note_absent_cpus();
  drop_taken_claims();
  // Looks after events are too close to each other to tell what is left over from what is being made.
  if (changed.empty()) remove_leftovers(seen_twice(leftover_groups(state_)));
  note_sharing();
  Setting wanted = setting_of(state_);
  // Not while a CPU waits for its class: the kernel may have to wake each of them.
  if (changed.empty()) state_.current = hardware_.current_frequencies(cpus_of(wanted.pstate.cpus));
  // What a failed write of ours left behind looks like somebody's change, but is ours to mend.
  if (in_sync_ && !differences(wanted, state_.observed).empty()) {
    release_unused(wanted);
    wanted = setting_of(state_);
  }
  const bool is_different = !differences(wanted, state_.observed).empty();
  const std::vector<std::string> drifted = drift(before, wanted, state_.observed);
  const bool is_cold = unclaimed(state_, wanted) != Baselines{};
  const bool was_settled = in_sync_;
  if (!is_different && !is_cold && pending_restore_.empty()) {
    in_sync_ = true;
    state_.health.hardware_problem.clear();
    return forget_restored();
  }
  const CpuSet came = changed | (state_.facts.rdt.online - online);
  const Result<void> converged =
      record_external(wanted, came).and_then([this] { return claim(state_); }).and_then([this] {
        return converge(state_, Scope::All);
      });
  if (!converged) return note_hardware_problem(converged.error());
  forget_restored();
  // What a failed write of ours left behind is not others' doing.
  if (!is_different || !was_settled) return;
  // A CPU that went and came back is in the default class without having been moved.
  if (state_.facts.rdt.online != online || !changed.empty()) {
    log::notice("CPUS_CHANGED", "CPUs came or went; those that there are were set for their workloads",
                {{"CPUS", state_.facts.rdt.online.to_string()}});
    return;
  }
  if (!drifted.empty()) note_repaired(drifted);
}

}  // namespace nrd
