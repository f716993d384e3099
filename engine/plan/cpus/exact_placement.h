// CPUs that a request names itself.
#pragma once

#include "engine/plan/cpus/placement.h"

namespace nrd::plan {

// Whether `request.cpus` can be granted.
Result<void> check_exact(const Situation& situation, const CpuRequest& request);

}  // namespace nrd::plan
