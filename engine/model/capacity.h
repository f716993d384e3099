// What the node can grant at all, as opposed to what is free now: caches, CPUs, pools, and what is left of each reserve
// for its origin. It does not change with workloads of that origin, unless they take the last class of service.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/shared.h"
#include "engine/model/cpu_pools.h"
#include "engine/model/fwd.h"
#include "engine/model/pools.h"
#include "engine/model/reserves.h"

namespace nrd {

// What workloads of one origin have and can get of their reserve, together.
struct ReserveCapacity {
  std::optional<unsigned> ways{};           // of the L3 cache that has the fewest
  std::map<std::string, CpuSet> cpus{};     // of exclusive pools
  std::map<std::string, uint64_t> milli{};  // of shared pools
  friend bool operator==(const ReserveCapacity&, const ReserveCapacity&) = default;
};

struct Capacity {
  CpuSet online{};
  SharedMap<CacheId, CpuSet> caches{};
  std::map<unsigned, PoolPartition> layouts{};
  CpuPools pools{};
  std::string default_pool{};
  Reserves reserves{};
  std::map<std::string, ReserveCapacity> by_origin{};
  friend bool operator==(const Capacity&, const Capacity&) = default;
};

Capacity capacity_of(const NodeState& state);

// Numbers the capacities that it is given one after the other. The number of a new one is larger than any before, also
// of nrd before its last start unless the clock was set back: it begins with the time.
class CapacityRevision {
 public:
  explicit CapacityRevision(const Clock& clock) : clock_(clock) {}
  uint64_t of(Capacity capacity);

 private:
  const Clock& clock_;
  Capacity last_{};
  uint64_t revision_ = 0;
};

}  // namespace nrd
