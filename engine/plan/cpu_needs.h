// Checks of a request for CPUs of a pool beyond the CPUs: time of a shared pool, and memory near. Pure.
#pragma once

#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd::plan {

// `pool`, a shared one, has the time that `request` requests, and the unit, cgroup or scope can have a share.
Result<void> check_share(const NodeState& state, const CpuPool& pool, const Workload& workload,
                         const CpuRequest& request, bool has_scope);
// The memory of the unit, cgroup or scope can be bound to the nodes of `grant`.
Result<void> check_memory(const NodeState& state, Workload workload, const CpuGrant& grant);

}  // namespace nrd::plan
