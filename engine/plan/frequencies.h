// The frequency window of each CPU of a workload. Pure.
//
// Rounded to what the hardware takes: down to a multiple of the bus clock. Within the hardware's limits, or refused
// with them. Where CPUs share a frequency domain with others' CPUs, those change along, so that must be allowed; two
// workloads in one domain get what they ask for only if that is the same.
#pragma once

#include <map>

#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"

namespace nrd::plan {

// Empty if the spec asks for no frequency.
Result<std::map<CpuId, pstate::FrequencySetting>> plan_frequencies(const NodeState& state, const Spec& spec,
                                                                   WorkloadId self);

}  // namespace nrd::plan
