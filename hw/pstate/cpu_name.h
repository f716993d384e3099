// CPU names for messages: "CPU 4", "CPUs 0-3,8".
#pragma once

#include <string>

#include "base/cpu_set.h"
#include "base/ids.h"

namespace nrd::pstate {

inline std::string name_of(CpuId cpu) { return "CPU " + std::to_string(cpu.value); }
inline std::string name_of(const CpuSet& cpus) { return (cpus.size() == 1 ? "CPU " : "CPUs ") + cpus.to_string(); }

}  // namespace nrd::pstate
