// Ways and classes that the node does not have any more: CDP halves the classes, and another CPU, or another setting of
// the firmware, may have fewer ways, or other caches. A workload that lost its own gets others as soon as there are
// some.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd::plan {

// The workloads, without grants of classes or ways that do not exist or are of other caches than their CPUs, and with
// limits of bandwidth that the node has. A node without cache allocation loses none: its resctrl is mounted again.
Workloads without_lost_ways(const NodeState& state);
// Those that request ways and have none.
std::vector<WorkloadId> lacking_ways(const NodeState& state);
// All workloads after `id`, one of lacking_ways(), has got its ways.
Result<Workloads> grant_lost_ways(const NodeState& state, WorkloadId id, Time now);

}  // namespace nrd::plan
