// The CPUs that clients name, in what RMD's parser of bitmaps takes: numbers, upward ranges, commas, and "^" in front
// of what is taken away from all that stands before it, also in earlier items:
//
//   ["0-7,^3"]   0-2,4-7        ["0-7", "^2-3"]   0-1,4-7        ["^3,0-7"]   0-7
//
// Blanks around numbers and ranges are passed over. What stands behind the first CPU that cannot exist is not read: the
// set ends with that CPU, and the planner refuses it by name.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_set.h"

namespace nrd {

// `last`: no CPU after it can exist on the node. BadRequest names the item: "/core_ids/1".
Result<CpuSet> parse_core_ids(const std::vector<std::string>& items, CpuId last = {CpuSet::kMaxCpus - 1});

}  // namespace nrd
