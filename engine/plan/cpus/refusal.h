// Why a number of CPUs or cores is not granted, and what would be.
#pragma once

#include "engine/plan/cpus/placement.h"

namespace nrd::plan {

// For a request that find() cannot place. BadRequest if the pool could not grant it even with
// all of its CPUs free.
Error refusal(const Situation& situation, const CpuRequest& request);

}  // namespace nrd::plan
