// The planner: takes the present state and one change, and returns all workloads after the change, or a refusal that
// names the field and what would fit. Pure: changes nothing, and the same input gives the same plan.
//
// A change may alter the grants of other best-effort workloads on its caches (they shrink or grow back); a guarantee
// never moves.
//
// `quota_user`: the client, if it has the role `run`: the quota of this user applies ([cpu.quotas]).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/origin.h"
#include "base/owner.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/model/cpu_quotas.h"
#include "engine/model/fwd.h"

namespace nrd::plan {

Result<Workloads> create(const NodeState& state, WorkloadId id, const Spec& asked, Time now,
                         const std::optional<LocalUser>& quota_user = {}, const std::string& origin = kOriginRest);
// A patch that changes nothing returns the workloads as they are.
Result<Workloads> patch(const NodeState& state, WorkloadId id, const SpecPatch& patch, Time now,
                        const std::optional<LocalUser>& quota_user = {});
// `workloads` plus one that makes `request` on `cache` alone, granted as create() would. Checks ways and classes only,
// not CPUs.
Result<Workloads> create_on(const NodeState& state, const Workloads& workloads, WorkloadId id,
                            const CacheRequest& request, CacheId cache);
// Gives `before` the request `spec`; the same one returns the workloads as they are. `emptied`: the field to name if it
// requests no resources.
Result<Workloads> change(const NodeState& state, const Workload& before, Spec spec, const char* emptied, Time now,
                         const std::optional<LocalUser>& quota_user = {});
Result<Workloads> remove(const NodeState& state, WorkloadId id);
// `left`: the remaining tasks of each of these workloads. A workload without tasks and CPUs is deleted; one that has
// CPUs releases the caches that only its tasks used. All in one pass: after a reboot this concerns every workload with
// tasks.
Workloads without_tasks(const NodeState& state, const std::map<WorkloadId, std::vector<Task>>& left, Time now);

}  // namespace nrd::plan
