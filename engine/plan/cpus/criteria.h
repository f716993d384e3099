// The lists of criteria by which pools choose a zone.
#pragma once

#include <string>
#include <vector>

#include "engine/model/cpu_pools.h"
#include "engine/plan/cpus/zone_choice.h"

namespace nrd::plan {

// A set of CPUs that a request prefers, and how a reason names this: "nearest to eth1".
struct Preference {
  std::string name{};
  CpuSet cpus{};
};

// The preferences, the first most, and then the list of the order. Refers to the names of `preferences`.
std::vector<Criterion> criteria_of(CpuPool::Order order, const std::vector<Preference>& preferences);

}  // namespace nrd::plan
