// Memory bandwidth of a workload's class. Pure.
//
// Only a guarantee has a class of its own, so only a guarantee can be limited. Asking for all there is limits nothing
// and may stand beside any request but one for the shared class, as in RMD.
#pragma once

#include <map>

#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"

namespace nrd::plan {

// What can be said against the request before anything is granted.
Result<void> check_bandwidth(const NodeState& state, const Spec& spec);

// The limit in the kernel's unit, as the kernel will round it: up to a multiple of its step, at least its least.
// Meant for a request that passed check_bandwidth().
rdt::Bandwidth limit_for(const rdt::MbaInfo& mba, const MbaRequest& request);

// On each cache of `ways`; empty if nothing is limited.
std::map<CacheId, rdt::Bandwidth> plan_bandwidth(const NodeState& state, const Spec& spec,
                                                 const std::map<CacheId, WayMask>& ways);

// CPUs of others that the limit of a workload's CPUs slows as well: threads of the same cores, where the kernel says
// that a core has one limit.
CpuSet throttled_siblings(const NodeState& state, const Workload& workload);

}  // namespace nrd::plan
