// How the ways of each L3 cache are divided: OS at the low end, then guarantee, best effort, shared, infrastructure.
//
//   11 ways, nothing configured:   bit 0  O GGGGG BBB SS  bit 10      (OS 1, guarantee 5, best effort 3, shared 2)
//
// A pool limits both the number and the position of its workloads' ways, so that workloads of one pool never fragment
// another. Ungranted ways are not idle: the root class has the longest run of them, in whichever pools it lies
// (os_ways() of node_state.h). The OS ways are its floor. Neither they nor the infrastructure's ways are granted to a
// workload.
#pragma once

#include <array>
#include <optional>

#include "base/result.h"
#include "base/way_mask.h"

namespace nrd {

namespace rdt {
struct Cat;
}

// Numbers of ways; a pool that is not configured is derived from the cache.
struct PoolSizes {
  std::optional<unsigned> os;
  std::optional<unsigned> guarantee;
  std::optional<unsigned> besteffort;
  std::optional<unsigned> shared;
  unsigned infra = 0;
  friend bool operator==(const PoolSizes&, const PoolSizes&) = default;
};

struct PoolPartition {  // the same on every cache id
  WayMask os;
  WayMask guarantee;
  WayMask besteffort;
  WayMask shared;
  WayMask infra;
  friend bool operator==(const PoolPartition&, const PoolPartition&) = default;
};

struct NamedPool {
  const char* name;
  WayMask PoolPartition::*ways;
};
inline constexpr std::array kNamedPools{
    NamedPool{"os", &PoolPartition::os}, NamedPool{"guarantee", &PoolPartition::guarantee},
    NamedPool{"besteffort", &PoolPartition::besteffort}, NamedPool{"shared", &PoolPartition::shared},
    NamedPool{"infra", &PoolPartition::infra}};

// Defaults: OS min_ways, shared about a sixth, best effort about a third, guarantee the rest, none below min_ways; a
// cache too small for all four omits best effort, then shared. BadRequest with the numbers if they do not fit.
Result<PoolPartition> plan_layout(const rdt::Cat& cat, const PoolSizes& sizes);

// For L2 caches of nodes that also allocate L3: the OS keeps min_ways, all others are for guarantees.
PoolPartition plan_l2_layout(const rdt::Cat& cat);

}  // namespace nrd
