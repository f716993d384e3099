// The planner: from the node as it is and one change to all workloads as they would be, or a refusal that names the
// field and what would fit. Pure: nothing is touched, and the same input gives the same plan.
//
// A change may alter the grants of other best-effort workloads on the caches it touches (they give way or grow back);
// a guarantee, once granted, never moves.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"
#include "engine/plan/ways.h"

namespace nrd::plan {

using Workloads = std::map<WorkloadId, Workload>;

Result<Workloads> create(const NodeState& state, WorkloadId id, const Spec& asked, Time now, Shrink shrink);
// A patch that changes nothing gives back the workloads as they are.
Result<Workloads> patch(const NodeState& state, WorkloadId id, const SpecPatch& patch, Time now, Shrink shrink);
// `workloads` with one more that asks for `request` on `cache` alone, and gets there what create() would grant it.
// Whose CPUs those are is not looked at: this is about ways and classes.
Result<Workloads> create_on(const NodeState& state, const Workloads& workloads, WorkloadId id,
                            const CacheRequest& request, CacheId cache, Shrink shrink);
// How many more workloads the shared class may have.
size_t shared_places(const NodeState& state);
Result<Workloads> remove(const NodeState& state, WorkloadId id, Shrink shrink);
// `left`: who is left of the tasks of each of these workloads. One that is for nobody any more goes, one that goes on
// for its CPUs alone gives back the caches which only its tasks touched. All at once: after a reboot that is every
// workload for tasks there was.
Workloads without_tasks(const NodeState& state, const std::map<WorkloadId, std::vector<Task>>& left, Time now,
                        Shrink shrink);

}  // namespace nrd::plan
