// CPUs and caches as /sys/devices/system/cpu shows them. `root` stands before each path; "" is the host itself.
//
// The kernel ends every line, so a text without a line end was cut off and says nothing: half of "12" is another id.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

// Fills possible, online, isolated and all about the caches of `level`; the rest of the Node is left as it is.
Result<Node> read_topology(const std::string& root = "", unsigned level = 3);

// The L2 caches of `online`, beside those of L3, and with `all` what read_topology() tells of those. There may be one
// for each core, so it is a matter of some thousand files.
Node read_l2(const CpuSet& online, bool all, const std::string& root = "");

// The threads of each core that has several among `online`.
std::vector<CpuSet> read_cores(const CpuSet& online, const std::string& root = "");

}  // namespace nrd::rdt
