// CPUs and caches according to /sys/devices/system/cpu. `root` is prepended to each path; "" is the host itself.
//
// The kernel ends every line, so a text without a line end was truncated and is ignored: half of "12" is another id.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

// Fills possible, online, isolated and the caches of `level`, as the main one; the rest of the Node keeps its defaults.
Result<Node> read_topology(const std::string& root = "", unsigned level = 3);

enum class Details { All, IdsAndCpus };

// Only the caches of `level` of `online`. There may be an L2 cache for each core, so this can read thousands of files.
Node read_caches(unsigned level, const CpuSet& online, Details details, const std::string& root = "");

// The threads of each core with several threads in `online`.
std::vector<CpuSet> read_cores(const CpuSet& online, const std::string& root = "");

}  // namespace nrd::rdt
