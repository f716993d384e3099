// The frequency window of each CPU of a workload. Pure.
//
// Rounded down to a multiple of the bus clock, as the hardware does. A window outside the hardware's limits is refused
// with these limits. CPUs of one frequency domain change together, so a request that affects CPUs outside the workload
// must allow that; two workloads in one domain must request the same.
#pragma once

#include <map>

#include "base/ids.h"
#include "base/result.h"
#include "engine/model/fwd.h"
#include "hw/pstate/types.h"

namespace nrd::plan {

// On the CPUs that it was granted or requested. Empty if it requests no frequency.
Result<std::map<CpuId, pstate::FrequencySetting>> plan_frequencies(const NodeState& state, const Workload& workload);

}  // namespace nrd::plan
