// Memory nodes of workloads that ask for memory near their CPUs. The nodes were chosen with the CPUs and are stored in
// the grant. The setting leaves the memory of targets with processes alone: an operation moves it, or a change outside
// the engine thread releases it (engine/transaction/memory_changes.h).
#pragma once

#include <map>
#include <optional>
#include <set>

#include "base/cpu_set.h"
#include "base/result.h"
#include "engine/model/fwd.h"
#include "hw/cpuset/types.h"

namespace nrd {

// The memory nodes of these CPUs; empty: they have none.
cpuset::MemoryNodes memory_near(const NodeState& state, const CpuSet& cpus);
// Those to which the memory of its targets is bound; nullopt: to none.
std::optional<cpuset::MemoryNodes> memory_of(const Workload& workload);
// Of all workloads, by target.
std::map<cpuset::Target, cpuset::MemoryNodes> bound_memory(const NodeState& state);
// The targets whose memory matters: those of workloads, of open operations, and those that nrd has to restore.
std::set<cpuset::Target> targets_with_memory(const NodeState& state);
// Adds the memory of workloads, and that to restore, to `wanted`. Not of targets whose processes got memory elsewhere.
void add_memory(cpuset::Setting& wanted, const NodeState& state);
// True if nrd has bound the memory of `target`, no workload does any more, and it has processes.
bool awaits_release(const NodeState& state, const cpuset::Target& target);
// How memory must move before `workload` has what it is granted; nullopt: it need not, or may not.
std::optional<cpuset::MemoryChange> memory_move_of(const NodeState& state, const Workload& workload);
// The operation that a change of `workload` waits for.
std::optional<uint64_t> open_operation_of(const NodeState& state, const Workload& workload);
// An operation moves memory now.
bool is_memory_moving(const NodeState& state);
// Busy if memory moves and `setting` would change a cpuset: the kernel would let that write wait for the pages.
Result<void> check_no_memory_moves(const NodeState& state, const Setting& setting);
// True if its targets, as last observed, get memory where they should.
bool has_its_memory(const NodeState& state, const Workload& workload);
// The first target with processes that had memory of other nodes before nrd could bind it; empty: there is none.
std::string memory_problem(const NodeState& state);

}  // namespace nrd
