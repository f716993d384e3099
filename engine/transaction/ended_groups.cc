#include "engine/transaction/ended_groups.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "engine/model/cpu_sets.h"
#include "engine/plan/grant.h"
#include "engine/plan/group_target.h"

namespace nrd {
namespace {

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

EndedGroups without_ended_groups(const NodeState& state, Time now) {
  EndedGroups found{.workloads = state.workloads, .ended = {}, .come = {}};
  for (const auto& [id, workload] : state.workloads) {
    const std::optional<CgroupOwner>& owner = workload.spec.cgroup_owner;
    if (!owner || !is_observed(state, workload.spec)) continue;
    const bool is_there = !processes_of(state, workload.spec).empty();
    const bool has_run = has_used_time(state, workload.spec) || has_vanished(state, workload.spec);
    const bool is_late = now > workload.created + std::chrono::seconds(owner->within_seconds);
    if (is_there && !owner->has_come) {
      Workload come = workload;
      come.spec.cgroup_owner->has_come = true;
      found.workloads.put(std::move(come));
      found.come.insert(id);
    }
    if (!is_there && (owner->has_come || has_run || is_late)) found.ended.insert(id);
  }
  for (const WorkloadId id : found.ended) {
    Result<Workloads> left = plan::remove(with_workloads(state, found.workloads), id);
    if (left) found.workloads = *std::move(left);
  }
  return found;
}

void log_ended(const Workloads& before, const EndedGroups& groups) {
  for (const WorkloadId id : groups.ended) {
    const Workload& workload = before.at(id);
    log::notice("GROUP_ENDED", "the unit or cgroup of a workload has no process; the workload was deleted",
                {{"WORKLOAD", id_text(workload)},
                 {"GROUP", workload.spec.unit.empty() ? workload.spec.cgroup : workload.spec.unit}});
  }
}

}  // namespace nrd
