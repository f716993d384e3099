#include "engine/transaction/ended.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/find_in.h"
#include "base/joined.h"
#include "base/log.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/plan/grant.h"
#include "engine/plan/targets.h"

namespace nrd {
namespace {

std::string numbers_of(const std::vector<Task>& tasks) {
  return joined(tasks, " ", [](const Task& task) { return std::to_string(task.id); });
}

bool is_observed(const NodeState& state, const Spec& spec) {
  return state.observed.cpuset.targets.contains(*group_target(spec));
}

// Also by processes that came and went between two observations.
bool has_used_time(const NodeState& state, const Spec& spec) {
  const uint64_t used = plan::used_time(state, spec);
  return used > 0 && used != spec.cgroup_owner->usage_us;
}

// nrd has limited it, so it was there.
bool has_vanished(const NodeState& state, const Spec& spec) {
  const cpuset::Target target = *group_target(spec);
  return is_gone(state, target) && state.baselines.cpu_sets.contains(target);
}

}  // namespace

EndedTasks without_ended_tasks(const NodeState& state, Time now) {
  EndedTasks ended;
  std::map<WorkloadId, std::vector<Task>> left;
  for (const auto& [id, workload] : state.workloads) {
    std::vector<Task> living;
    for (const Task& task : workload.spec.tasks) (has_ended(state, task) ? ended.of[id] : living).push_back(task);
    if (ended.of.contains(id)) left.emplace(id, std::move(living));
  }
  ended.workloads = plan::without_tasks(state, left, now);
  return ended;
}

bool names_tasks(const NodeState& state) {
  const auto has_tasks = [](const auto& entry) { return names_tasks(entry.second.spec); };
  return !state.baselines.tasks.empty() || !state.baselines.cpu_sets.empty() ||
         !state.config->groups.infra_processes.empty() || std::ranges::any_of(state.workloads, has_tasks);
}

std::set<WorkloadId> ArrivalDeadlines::passed(const Workloads& workloads, Time now, Steady steady) {
  std::map<WorkloadId, Wait> present;
  std::set<WorkloadId> late;
  for (const auto& [id, workload] : workloads) {
    const std::optional<CgroupOwner>& owner = workload.spec.cgroup_owner;
    if (!owner) continue;
    const Time named = std::max(workload.created, owner->since);
    const Wait* known = find_in(waits_, id);
    // The wall clock counts for the time before nrd's start alone, as when nrd was down.
    const auto waited = is_first_ ? std::max(now - named, Time::duration::zero()) : Time::duration::zero();
    const Wait wait = known && known->named == named ? *known : Wait{.named = named, .begin = steady - waited};
    present.emplace(id, wait);
    if (steady > wait.begin + std::chrono::seconds(owner->within_seconds)) late.insert(id);
  }
  waits_ = std::move(present);
  is_first_ = false;
  return late;
}

EndedGroups without_ended_groups(const NodeState& state, const std::set<WorkloadId>& late) {
  EndedGroups found{.workloads = state.workloads, .ended = {}, .come = {}};
  for (const auto& [id, workload] : state.workloads) {
    const std::optional<CgroupOwner>& owner = workload.spec.cgroup_owner;
    if (!owner || !is_observed(state, workload.spec)) continue;
    const bool is_there = !processes_of(state, workload.spec).empty();
    const bool has_run = has_used_time(state, workload.spec) || has_vanished(state, workload.spec);
    if (is_there && !owner->has_come) {
      Workload come = workload;
      come.spec.cgroup_owner->has_come = true;
      found.workloads.put(std::move(come));
      found.come.insert(id);
    }
    if (!is_there && (owner->has_come || has_run || late.contains(id))) found.ended.insert(id);
  }
  for (const WorkloadId id : found.ended) {
    Result<Workloads> left = plan::remove(with_workloads(state, found.workloads), id);
    if (left) found.workloads = *std::move(left);
  }
  return found;
}

void log_ended(const Workloads& before, const EndedTasks& ended) {
  for (const auto& [id, tasks] : ended.of) {
    const bool is_over = !ended.workloads.contains(id);
    log::notice(
        "TASKS_ENDED",
        is_over ? "all tasks of a workload have exited; the workload is deleted" : "tasks of a workload have exited",
        {{"WORKLOAD", id_text(before.at(id))}, {"TASKS", numbers_of(tasks)}});
  }
}

void log_ended(const Workloads& before, const EndedGroups& groups) {
  for (const WorkloadId id : groups.ended) {
    const Workload& workload = before.at(id);
    log::notice("CGROUP_ENDED", "the unit or cgroup of a workload has no process; the workload was deleted",
                {{"WORKLOAD", id_text(workload)},
                 {"CGROUP", workload.spec.unit.empty() ? workload.spec.cgroup : workload.spec.unit}});
  }
}

}  // namespace nrd
