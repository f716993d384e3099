// What only workloads of one origin may take ([reserve.kubernetes]). A reserve is also the limit of that origin: what a
// client of the origin offers to others is there, and no more.
//
//   11 ways, ways = 3:   bit 0  O GG KKK BBB SS  bit 10     the highest of the guarantee pool, on each L3 cache
//
// A workload keeps what it was granted before the reserve was configured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/cpu_set.h"
#include "base/result.h"
#include "base/way_mask.h"
#include "engine/model/cpu_pools.h"
#include "engine/model/pools.h"

namespace nrd {

struct NodeState;

struct Reserve {
  struct Cpus {
    CpuSet listed{};        // of an exclusive pool
    uint32_t of_share = 0;  // of a shared pool: CPUs whose time it may request
    friend bool operator==(const Cpus&, const Cpus&) = default;
  };
  // Nullopt: neither reserved nor limited.
  std::optional<unsigned> ways{};                      // for guarantees, on each L3 cache
  std::optional<unsigned> onload{};                    // of onload.max_allocations
  std::optional<std::map<std::string, Cpus>> pools{};  // by name; those of no other pool
  friend bool operator==(const Reserve&, const Reserve&) = default;
};

using Reserves = std::map<std::string, Reserve>;  // by origin

// BadRequest: the pools do not have what is reserved, or a core would be divided. Without the
// CPUs of a pool that is not resolved, these are not compared.
Result<void> check_reserves(const Reserves& reserves, const CpuPools& pools, const std::vector<cpuset::Zone>& zones);
Result<void> check_reserved_ways(const Reserves& reserves, const PoolPartition& layout);

// The ways of the guarantee pool that workloads of `origin` may get.
WayMask guarantee_ways_for(const NodeState& state, const std::string& origin);
// `pool` with only the CPUs that workloads of `origin` may get. Of an exclusive pool.
CpuPool pool_for(const NodeState& state, const CpuPool& pool, const std::string& origin);
// Thousandths of a CPU of the shared `pool` that workloads of `origin` except `self` may request and do request.
struct ShareLimit {
  uint64_t most = 0;
  uint64_t requested = 0;
};
ShareLimit share_limit(const NodeState& state, const CpuPool& pool, const std::string& origin,
                       std::optional<WorkloadId> self = {});

// For a refusal: "; 3 of them are reserved for origin kubernetes (reserve.kubernetes.ways)", or how much of its reserve
// is left for `origin`; empty if no reserve concerns it. `taken`: ways in use on the cache.
std::string ways_reserve_text(const NodeState& state, const std::string& origin, WayMask taken);
std::string pool_reserve_text(const NodeState& state, const CpuPool& pool, const std::string& origin);

}  // namespace nrd
