// Checks the unit or cgroup of a spec. Pure.
#pragma once

#include <optional>

#include "base/result.h"
#include "engine/model/node_state.h"

namespace nrd::plan {

// It exists, nothing else has it or its processes, and it can have the CPUs that `workload` was granted. `self`: the
// workload that is changed; its unit may have gone since. As far as it was observed: a dry run knows of no new one.
Result<void> check_group(const NodeState& state, const Workload& workload, std::optional<WorkloadId> self);

// The CPU time that its unit or cgroup has used, as last observed.
uint64_t used_time(const NodeState& state, const Spec& spec);

}  // namespace nrd::plan
