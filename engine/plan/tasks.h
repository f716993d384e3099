// Checks the tasks of a spec. Pure.
#pragma once

#include <optional>

#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"

namespace nrd::plan {

// Each task exists and is not taken, and the spec requests something that applies to tasks. `self` is the workload
// being patched: its present tasks may have exited since.
Result<void> check_tasks(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self);

}  // namespace nrd::plan
