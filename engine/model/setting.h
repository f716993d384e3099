// The setting of the hardware, computed from the workloads. Nothing else computes it.
#pragma once

#include <map>

#include "engine/hardware.h"
#include "engine/model/fwd.h"

namespace nrd {

// The setting of `state`: the baseline of every setting that nrd owns, then for each class the ways of ways_in_use(),
// for each workload's online CPUs its class, for CPUs with a requested frequency its window, for tasks their class and
// CPUs, CPU time and memory, and what keeps the host and work of the kernel off CPUs of pools.
Setting setting_of(const NodeState& state);

// Its parts about frequencies, about the classes of tasks, and about tasks (their classes and where they run) alone.
pstate::Setting frequency_setting_of(const NodeState& state);
// Claimed CPUs whose frequency no workload sets any more: `put_back` of that setting.
CpuSet released_frequencies(const NodeState& state);
rdt::Setting task_classes_of(const NodeState& state);
Setting task_setting_of(const NodeState& state);

// Sets the root class for CPUs that other software has put into classes of `wanted`: they would fill granted ways.
void return_strays(rdt::Setting& wanted, const NodeState& state);

// The ways of workloads and of the infrastructure, and on each of their caches the remaining ways for all others:
// os_ways() for the root class and for every class without ways there that has a task or a CPU that may run there.
std::map<ClosId, std::map<CacheId, WayMask>> ways_in_use(const NodeState& state);

}  // namespace nrd
