// What a check of a pool is about, as far as workloads and configuration tell. Pure.
#pragma once

#include <vector>

#include "engine/model/cpu_pools.h"
#include "engine/model/node_state.h"

namespace nrd {

cpuset::CheckQuery check_query_of(const NodeState& state, const CpuPool& pool);
// CPUs of the pool whose cores have threads that others use, or may use, at the same time.
std::vector<cpuset::Disturbance> busy_siblings(const NodeState& state, const CpuPool& pool);

}  // namespace nrd
