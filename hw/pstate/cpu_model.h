// Which registers a CPU model has, as far as nrd supports them.
#pragma once

#include <optional>

#include "base/cpuinfo.h"

namespace nrd::pstate {

// CPU models whose registers nrd supports.
enum class RegisterSet { Intel, Amd17h, Amd1Ah };
std::optional<RegisterSet> registers_of(const Part& part);

}  // namespace nrd::pstate
