// Who stands beside the workloads, by configuration: the operating system and the node's infrastructure.
//
//   os      CPUs that stay in the root class
//   infra   CPUs and processes in a class of their own (COS1), which has the infra pool: on each cache that its CPUs
//           touch, on all of them if it has processes, which run anywhere
//
// No workload may ask for ways on such a CPU. What a workload had before the configuration changed it keeps until it is
// deleted, and the group has to do without meanwhile.
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
  std::set<uid_t> infra_users{0};            // whose processes count
  bool has_infra() const { return !infra.empty() || !infra_processes.empty(); }
  friend bool operator==(const ReservedCpus&, const ReservedCpus&) = default;
};

inline constexpr ClosId kInfraClass{1};  // RMD's clients know COS1 as this group's

// Whether the node can have `groups` with this layout of its caches. BadRequest with the numbers.
Result<void> check_reserved_cpus(const ReservedCpus& groups, const rdt::Node& node, const PoolPartition& layout);

// Ways that the infrastructure has on `cache`; none where nobody of it is, where a workload is in
// the way, or while others use COS1.
WayMask infra_ways(const NodeState& state, CacheId cache);
// Whether COS1 is kept for the infrastructure.
bool is_reserved_for_infra(const NodeState& state, ClosId clos);

}  // namespace nrd
