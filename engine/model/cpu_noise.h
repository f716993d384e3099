// What keeps the CPUs of a pool from their work, apart from other tasks: leaving an idle state takes time, and the
// kernel has work of its own. Computed from the grants, the pools and what was observed, never stored.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "engine/model/fwd.h"
#include "hw/cpuset/types.h"

namespace nrd {

// CPUs whose latency limit matters: those of pools with a limit, and those that nrd has to restore.
CpuSet cpus_with_latency(const NodeState& state);
// The limits of granted CPUs.
std::map<CpuId, cpuset::LatencyLimit> latency_in_use(const NodeState& state);
// True if a pool is low-noise, or nrd has to restore where work of the kernel ran.
bool cares_for_noise(const NodeState& state);
// Adds where work of the kernel that was observed on CPUs of low-noise pools has to run, and where it ran before if it
// may run there again. What runs on none of these CPUs stays, wherever it was moved by others (irqbalance).
void add_noise(cpuset::Setting& wanted, const NodeState& state);
// The claims that `setting` needs: new ones, and those with another value to write.
std::map<cpuset::NoiseSource, NoiseClaim> unclaimed_noise(const NodeState& state, const Setting& setting);
// CPUs whose limit `setting` sets while their previous one is unknown.
CpuSet unreadable_latency(const NodeState& state, const Setting& setting);
// True if the CPUs of `workload`, as last observed, have the limit of their pool.
bool has_its_latency(const NodeState& state, const Workload& workload);
// What is wrong with pools but no error, one sentence each: offline CPUs, keys without effect on this node.
std::vector<std::string> cpu_warnings(const NodeState& state);

// What a check of `pool` is about, as far as workloads and configuration tell.
cpuset::CheckQuery check_query_of(const NodeState& state, const CpuPool& pool);
// CPUs of the pool whose cores have threads that others use, or may use, at the same time.
std::vector<cpuset::Disturbance> busy_siblings(const NodeState& state, const CpuPool& pool);

}  // namespace nrd
