// Memory bandwidth of a workload's class. Pure.
//
// Only a guarantee has a class of its own, so only a guarantee can be limited. A request for all bandwidth limits
// nothing and is valid with any request except one for the shared class, as in RMD.
#pragma once

#include <map>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/way_mask.h"
#include "engine/model/fwd.h"
#include "hw/rdt/types.h"

namespace nrd::plan {

// The checks that need no grant.
Result<void> check_bandwidth(const NodeState& state, const Spec& spec);

// The limit in the kernel's unit, rounded as the kernel rounds it: up to a multiple of its step, at least its minimum.
// Requires a request that passed check_bandwidth().
rdt::Bandwidth limit_for(const rdt::MbaInfo& mba, const MbaRequest& request);

// On each cache of `ways`; empty if nothing is limited.
std::map<CacheId, rdt::Bandwidth> plan_bandwidth(const NodeState& state, const Spec& spec,
                                                 const std::map<CacheId, WayMask>& ways);

// CPUs outside the workload that its limit also slows: threads of the same cores, where a core has one limit.
CpuSet throttled_siblings(const NodeState& state, const Workload& workload);

}  // namespace nrd::plan
