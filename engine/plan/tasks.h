// What can be said against the tasks of a spec. Pure.
#pragma once

#include <optional>

#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"

namespace nrd::plan {

// They are there, nobody else's, and there is something that tasks can be given. `self` is the workload that is
// patched: what it has already may have ended since.
Result<void> check_tasks(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self);

}  // namespace nrd::plan
