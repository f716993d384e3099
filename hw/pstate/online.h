// Which CPUs the kernel has online now.
#pragma once

#include <string>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/result.h"

namespace nrd::pstate {

Result<CpuSet> read_online(const std::string& root);

// Asked when something about a CPU failed. The errno does not tell: files of an offline CPU stay and say EBUSY, EINVAL
// or ENODEV, as the kernel's version has it.
bool is_offline(const std::string& root, CpuId cpu);

}  // namespace nrd::pstate
