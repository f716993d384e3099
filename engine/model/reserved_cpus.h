// CPUs and processes reserved by configuration for the operating system and the node's infrastructure.
//
//   os      CPUs that stay in the root class
//   infra   CPUs and processes in a class of their own (COS1) with the ways of the infra pool: on each cache of its
//           CPUs, on all caches if it has processes, which run anywhere
//
// No workload may request ways on such a CPU. A workload granted before the configuration changed keeps its ways until
// it is deleted; until then the group does not get them.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/way_mask.h"

namespace nrd {

struct PoolPartition;
struct NodeState;
namespace rdt {
struct Node;
}

struct ReservedCpus {
  CpuSet os;
  CpuSet infra;
  std::vector<std::string> infra_processes;  // patterns of command lines, see base/task.h
  std::set<uid_t> infra_users{0};            // owners of the matching processes
  bool has_infra() const { return !infra.empty() || !infra_processes.empty(); }
  friend bool operator==(const ReservedCpus&, const ReservedCpus&) = default;
};

inline constexpr ClosId kInfraClass{1};  // RMD's clients know COS1 as this group's

// Checks what holds on every node. BadRequest.
Result<void> check_reserved_cpus(const ReservedCpus& groups, unsigned infra_ways);
// Checks whether the node supports `groups` with this layout of its caches. BadRequest with the numbers.
Result<void> check_reserved_cpus(const ReservedCpus& groups, const rdt::Node& node, const PoolPartition& layout);

// Ways of the infrastructure on `cache`; none if it has no CPU or process there, if a workload holds them, or while a
// foreign group uses COS1.
WayMask infra_ways(const NodeState& state, CacheId cache);
// True if COS1 is reserved for the infrastructure.
bool is_reserved_for_infra(const NodeState& state, ClosId clos);

}  // namespace nrd
