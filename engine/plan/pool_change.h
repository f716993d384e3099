// Whether pools may change while workloads have ways. Pure.
#pragma once

#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd::plan {

// Workloads keep their ways. Conflict if ways that lie in their pool now would not lie in it `after`: the message names
// the workloads, and how many ways their pool needs. Ways that lie outside already stay as they are, unless the OS or
// the infrastructure would get them.
Result<void> check_pool_change(const NodeState& state, const PoolPartition& after);

}  // namespace nrd::plan
