// The CPU lists that clients send, in the syntax of RMD's bitmap parser: numbers, ascending ranges, commas, and "^",
// which removes CPUs from everything before it, including earlier items:
//
//   ["0-7,^3"]   0-2,4-7        ["0-7", "^2-3"]   0-1,4-7        ["^3,0-7"]   0-7
//
// Blanks around numbers and ranges are ignored. Parsing stops at the first CPU that cannot exist: the set ends with
// that CPU, and the planner refuses it by number.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_set.h"

namespace nrd {

// `last`: the highest CPU number that can exist on the node. BadRequest names the item: "/core_ids/1".
Result<CpuSet> parse_core_ids(const std::vector<std::string>& items, CpuId last = {CpuSet::kMaxCpus - 1});

}  // namespace nrd
