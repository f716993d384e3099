// Finds what may delay tasks on CPUs of a pool, and what to do about each. Reads only.
#pragma once

#include <string>
#include <vector>

#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// All that can be read, in the order of Disturbance::Source, except siblings: which are busy is known from the
// workloads. Any thread; takes up to a second on a host with very many processes. `root`: of the files, "" on a host.
std::vector<Disturbance> find_disturbances(const CheckQuery& query, const std::string& root = "");

}  // namespace nrd::cpuset
