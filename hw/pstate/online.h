// The CPUs that are online now.
#pragma once

#include <string>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/result.h"

namespace nrd::pstate {

Result<CpuSet> read_online(const std::string& root);

// Call this when an operation on a CPU failed. The errno is not reliable: files of an offline CPU remain and return
// EBUSY, EINVAL or ENODEV, depending on the kernel version.
bool is_offline(const std::string& root, CpuId cpu);

}  // namespace nrd::pstate
