// CPUs and caches according to /sys/devices/system/cpu. `root` is prepended to each path; "" is the host itself.
//
// The kernel ends every line, so a text without a line end was truncated and is ignored: half of "12" is another id.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

// Fills possible, online, isolated and the caches of `level`; the rest of the Node keeps its defaults.
Result<Node> read_topology(const std::string& root = "", unsigned level = 3);

// The L2 caches of `online` on a node that also has L3; with `all` the same details as read_topology(). There may be
// one for each core, so this can read thousands of files.
Node read_l2(const CpuSet& online, bool all, const std::string& root = "");

// The threads of each core with several threads in `online`.
std::vector<CpuSet> read_cores(const CpuSet& online, const std::string& root = "");

}  // namespace nrd::rdt
