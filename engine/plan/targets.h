// Checks what runs in a workload: the tasks, the unit or the cgroup of its spec. Pure.
#pragma once

#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd::plan {

// Each task exists and is not taken, and the spec requests something that applies to tasks. `self` is the workload
// being patched: its present tasks may have exited since.
Result<void> check_tasks(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self);

// The unit or cgroup exists, nothing else has it or its processes, and it can have the CPUs that `workload` was
// granted. `self`: the workload that is changed; its unit may have ended since. Uses the last observation: a dry run
// does not see a new unit.
Result<void> check_group(const NodeState& state, const Workload& workload, std::optional<WorkloadId> self);

// The CPU time that its unit or cgroup has used, as last observed.
uint64_t used_time(const NodeState& state, const Spec& spec);

}  // namespace nrd::plan
