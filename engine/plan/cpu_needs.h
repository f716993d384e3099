// What a request for CPUs of a pool needs beside CPUs: time of a shared pool, and memory near. Pure.
#pragma once

#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd::plan {

// That `pool`, a shared one, has the time that `request` asks for, and that what runs there can be given a share.
Result<void> check_share(const NodeState& state, const CpuPool& pool, const Workload& workload,
                         const CpuRequest& request, bool has_scope);
// That the memory of what runs there can be bound to the nodes of `grant`.
Result<void> check_memory(const NodeState& state, Workload workload, const CpuGrant& grant);

}  // namespace nrd::plan
