// Which registers a part has, as far as nrd knows them.
#pragma once

#include <optional>

#include "base/cpuinfo.h"

namespace nrd::pstate {

// Whose registers nrd knows.
enum class RegisterSet { Intel, Amd17h, Amd1Ah };
std::optional<RegisterSet> registers_of(const Part& part);

}  // namespace nrd::pstate
