// The largest requests that fit now, for those who read what is left of a pool.
#pragma once

#include <cstdint>
#include <map>

#include "base/cpu_set.h"
#include "engine/model/cpu_pools.h"
#include "engine/plan/cpus/zones.h"

namespace nrd::plan {

// For each level of the machine the number of CPUs that one zone of it can give, of the `free` ones of an exclusive
// pool.
std::map<cpuset::Level, uint32_t> largest_requests(const ZoneTree& tree, const CpuPool& pool, const CpuSet& free);

}  // namespace nrd::plan
