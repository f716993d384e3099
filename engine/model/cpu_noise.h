// What keeps the CPUs of a pool from their work, apart from other tasks: leaving an idle state takes time. Computed
// from the grants and the pools, never stored.
#pragma once

#include <string>
#include <vector>

#include "engine/model/node_state.h"

namespace nrd {

// CPUs whose latency limit matters: those of pools with a limit, and those that nrd has to restore.
CpuSet cpus_with_latency(const NodeState& state);
// Adds the limits of granted CPUs, and those to restore, to `wanted`.
void add_latency(cpuset::Setting& wanted, const NodeState& state);
// CPUs whose limit `setting` sets while their previous one is unknown.
CpuSet unreadable_latency(const NodeState& state, const Setting& setting);
// True if the CPUs of `workload`, as last observed, have the limit of their pool.
bool has_its_latency(const NodeState& state, const Workload& workload);
// Keys of pools without effect on this node, one sentence each.
std::vector<std::string> cpu_warnings(const NodeState& state);

}  // namespace nrd
