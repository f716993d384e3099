// The slots that a request may take, by the rules of its pool for the threads of a core.
#pragma once

#include <vector>

#include "engine/plan/cpus/placement.h"
#include "engine/plan/cpus/supply.h"

namespace nrd::plan {

// CPUs near each device of the request.
CpuSet near_all(const Situation& situation);
// All CPUs in the zones, of the request's level, of the workloads that it must be apart from.
CpuSet zones_of_apart(const Situation& situation, const CpuRequest& request);
// True if it takes cores with all their threads.
bool takes_whole_cores(const CpuPool& pool, const CpuRequest& request);

std::vector<Slot> slots_of(const Situation& situation, const CpuRequest& request);

// Of CPUs of its pool: the other threads of their cores, in the pool as well.
CpuSet siblings_in_pool(const Situation& situation, const CpuSet& cpus);

}  // namespace nrd::plan
