#include "engine/transaction/ended_groups.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "engine/model/cpu_sets.h"
#include "engine/plan/grant.h"

namespace nrd {
namespace {

bool is_observed(const NodeState& state, const Spec& spec) {
  return state.observed.cpuset.targets.contains(*group_target(spec));
}

}  // namespace

EndedGroups without_ended_groups(const NodeState& state, Time now) {
  EndedGroups found{.workloads = state.workloads, .ended = {}, .come = {}};
  for (const auto& [id, workload] : state.workloads) {
    const std::optional<CgroupOwner>& owner = workload.spec.cgroup_owner;
    if (!owner || !is_observed(state, workload.spec)) continue;
    const bool is_there = !processes_of(state, workload.spec).empty();
    const bool is_late = now > workload.created + std::chrono::seconds(owner->within_seconds);
    if (is_there && !owner->has_come) {
      Workload come = workload;
      come.spec.cgroup_owner->has_come = true;
      found.workloads.put(std::move(come));
      found.come.insert(id);
    }
    if (!is_there && (owner->has_come || is_late)) found.ended.insert(id);
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
