// Finds the CPUs for a number: the zone first, then the slots in it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/plan/cpus/placement.h"
#include "engine/plan/cpus/supply.h"

namespace nrd::plan {

struct Found {
  CpuSet cpus{};
  std::string reason{};
};

// `number` CPUs, or cores if the request is for cores. CPUs that the workload has now:
//   fewer or as many: they are chosen from those it has, if these can give them;
//   more: it keeps all that the request allows, and stays in the zone that it may not leave;
//   otherwise, because they have become too scattered for the pool: preferred to others.
std::optional<Found> find(const Situation& situation, const CpuRequest& request, uint32_t number);

// The largest number that find() would find, and the zone that has it: the machine, unless the pool never crosses a
// level.
struct Largest {
  uint32_t number = 0;
  ZoneIndex zone = 0;
};
Largest find_largest(const Situation& situation, const CpuRequest& request);

// The largest requests that fit now, for those who read what is left of an exclusive pool: for each level of the
// machine the number of CPUs that one zone of it can give, of the `free` ones.
std::map<cpuset::Level, uint32_t> largest_requests(const ZoneTree& tree, const CpuPool& pool, const CpuSet& free);

}  // namespace nrd::plan
