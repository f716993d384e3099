// Memory nodes of workloads that ask for memory near their CPUs. The nodes were chosen with the CPUs and are stored in
// the grant. A target with processes keeps the memory that it has: nrd does not move it.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "engine/model/node_state.h"

namespace nrd {

// The memory nodes of these CPUs; empty: they have none.
cpuset::MemoryNodes memory_near(const NodeState& state, const CpuSet& cpus);
// Those to which the memory of its targets is bound; nullopt: to none.
std::optional<cpuset::MemoryNodes> memory_of(const Workload& workload);
// Of all workloads, by target.
std::map<cpuset::Target, cpuset::MemoryNodes> bound_memory(const NodeState& state);
// The targets whose memory matters: those of workloads, and those that nrd has to restore.
std::set<cpuset::Target> targets_with_memory(const NodeState& state);
// Those without an observation yet, so without a value to restore.
bool has_unobserved_memory(const NodeState& state);
// Adds the memory of workloads, and that to restore, to `wanted`. Not of targets whose processes got memory elsewhere.
void add_memory(cpuset::Setting& wanted, const NodeState& state);
// True if its targets, as last observed, get memory where they should.
bool has_its_memory(const NodeState& state, const Workload& workload);

}  // namespace nrd
