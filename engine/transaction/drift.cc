// Part of the transaction: periodic work against drift and for tasks that start and exit.
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

// The differences between `wanted` and the observation that other software caused. A setting that still has the value
// of `before` differs only because `wanted` changed: the root class avoids a new foreign group.
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

// Drop claims on settings that no workload uses and that other software has changed.
void Transaction::release_unused(const Setting& wanted) {
  const Baselines kept = owned_baselines(state_);
  if (kept == state_.baselines) return;
  log::notice("CLAIM_DROPPED", "other software changed classes or CPUs that no workload uses; no longer managing them",
              {{"WHAT", differences(wanted, state_.observed).front()}});
  state_.baselines = kept;
  store::Change change;
  change.new_boot_id = state_.facts.boot_id;
  add_baselines(change, kept);
  // If this commit fails the claim stays, and the next run tries again.
  [[maybe_unused]] const Result<void> committed = commit(std::move(change), Part::Baselines);
}

// A group that exists although nrd removed it was created by other software.
void Transaction::drop_taken_claims() {
  store::Change change;
  for (const ClosId clos : stored_.baselines.groups) {
    if (state_.made_groups.contains(clos) || !state_.observed.rdt.classes.contains(clos)) continue;
    change.dropped_group_claims.push_back(clos);
    state_.baselines.groups.erase(clos);
  }
  if (change.dropped_group_claims.empty()) return;
  // If this commit fails the claim stays, and the next run tries again.
  [[maybe_unused]] const Result<void> committed = commit(std::move(change), Part::Baselines);
}

// A group that two observations show is not just being set up by the program that created it.
std::set<ClosId> Transaction::seen_twice(const std::set<ClosId>& leftovers) {
  std::set<ClosId> twice;
  std::ranges::set_intersection(leftovers, leftovers_, std::inserter(twice, twice.end()));
  leftovers_ = leftovers;
  return twice;
}

// Other software needs their classes. They hold nothing, so there is nothing to restore and nothing to claim.
void Transaction::remove_leftovers(std::set<ClosId> leftovers) {
  if (leftovers.empty()) return;
  Setting wanted;
  wanted.rdt.removed = std::move(leftovers);
  if (const Result<CpuSet> removed = hardware_.converge(wanted); !removed)
    return note_hardware_problem(removed.error());
  log::notice("GROUPS_REMOVED", "removed empty resctrl groups left by libpqos or pqos",
              {{"COUNT", std::to_string(wanted.rdt.removed.size())}});
  state_.observed = with_applied(std::move(state_.observed), wanted);
}

// Reports the changes since the last call.
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
    log::warning("WAYS_SHARED", "foreign resctrl groups may fill the ways of a workload",
                 {{"WORKLOAD", id_text(state_.workloads.at(id))}, {"GROUPS", groups}});
  }
  for (const auto& [id, names] : sharing_) {
    const auto workload = state_.workloads.find(id);
    if (workload == state_.workloads.end() || sharing.contains(id)) continue;
    log::notice("WAYS_EXCLUSIVE", "the ways of a workload are exclusive again",
                {{"WORKLOAD", id_text(workload->second)}});
  }
  sharing_ = std::move(sharing);
}

// Drops the claims of pending restores that succeeded.
void Transaction::forget_restored() {
  if (state_.baselines.frequencies.empty() && state_.baselines.tasks.empty()) return;
  store::Change change;
  drop_restored_baselines(change);
  if (change.dropped_frequency_baselines.empty() && change.dropped_task_claims.empty()) return;
  // If this commit fails they are restored once more, and the next run tries again.
  [[maybe_unused]] const Result<void> committed = commit(std::move(change), Part::Baselines);
}

void Transaction::reap_tasks() {
  if (!names_tasks(state_) || (unknown_ && !resolve_unknown())) return;
  const Result<void> refreshed = refresh_infra().and_then([this] { return refresh({}); });
  if (!refreshed) return note_hardware_problem(refreshed.error());
  drop_exited();
  if (const Result<void> claimed = claim(state_); !claimed) return note_hardware_problem(claimed.error());
  // New processes of the infrastructure, and new threads that are in another class. All other differences are drift,
  // which repair() fixes and counts.
  Setting wanted = tasks_of(setting_of(state_));
  leave_out_unclaimed(wanted, state_.baselines);
  if (in_sync_ && !differences(wanted, state_.observed).empty()) {
    const Result<CpuSet> moved = hardware_.converge(wanted);
    in_sync_ = moved.has_value();
    if (!moved) return note_hardware_problem(moved.error());
    state_.observed = with_applied(std::move(state_.observed), wanted);
  }
  if (!unknown_) forget_restored();
}

// On failure the next run tries again: an exited task stays exited.
void Transaction::drop_exited() {
  ExitedTasks exited = without_exited(state_, now());
  if (exited.of.empty()) return;
  const Workloads before = stored_.workloads;
  count_revisions(before, exited.workloads);
  NodeState wanted = state_;
  wanted.workloads = exited.workloads;
  const Result<void> converged = claim(wanted).and_then([&] { return converge(wanted, Scope::Changes); });
  if (!converged) {
    log::error("CONVERGE_FAILED", converged.error().message, {{"DETAIL", converged.error().detail}});
    if (!unknown_) rollback();
    return;
  }
  state_.workloads = std::move(wanted.workloads);
  reset_governor();
  if (commit_workloads()) log_exited(before, exited);
}

bool Transaction::serve_hotplug(const CpuSet& changed) {
  repair(changed);
  return in_sync_ &&
         std::ranges::all_of(state_.workloads, [this](const auto& entry) { return is_applied(state_, entry.second); });
}

void Transaction::repair(const CpuSet& changed) {
  if (unknown_ && !resolve_unknown()) return;
  const std::string boot_id = state_.facts.boot_id;
  const CpuSet online = state_.facts.rdt.online;
  const Setting before = setting_of(state_);
  const Result<void> found = discover().and_then([this] { return refresh_infra(); }).and_then([this] {
    return refresh(cpus_of(state_.facts.pstate.cpus));
  });
  if (!found) return note_hardware_problem(found.error());
  if (state_.facts.boot_id != boot_id) {
    state_.baselines = stored_.baselines = {};
    state_.made_groups.clear();
  }
  note_absent_cpus();
  drop_taken_claims();
  // Observations after events follow each other too closely to tell a leftover from a group being set up.
  if (changed.empty()) remove_leftovers(seen_twice(leftover_groups(state_)));
  note_sharing();
  Setting wanted = setting_of(state_);
  // Not while a CPU waits for its class: the kernel may have to wake each of them.
  if (changed.empty()) state_.current = hardware_.current_frequencies(cpus_of(wanted.pstate.cpus));
  // A failed write of nrd looks like other software's change but is nrd's to fix.
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
  // A failed write of nrd is not drift.
  if (!is_different || !was_settled) return;
  // A CPU that went offline and came back is in the default class without having been moved.
  if (state_.facts.rdt.online != online || !changed.empty()) {
    log::notice("CPUS_CHANGED", "CPUs went online or offline; settings applied to the online CPUs",
                {{"CPUS", state_.facts.rdt.online.to_string()}});
    return;
  }
  if (!drifted.empty()) note_repaired(drifted);
}

}  // namespace nrd
