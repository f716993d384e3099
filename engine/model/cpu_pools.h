// Pools of CPUs, as configured ([[cpu.pools]]). Not to be confused with Pool and PoolPartition, which are of cache
// ways.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/find_in.h"
#include "base/result.h"
#include "hw/cpuset/types.h"

namespace nrd {

struct ReservedCpus;

struct CpuPool {
  enum class Kind {
    Exclusive,  // one workload per CPU
    Shared,     // all members on all CPUs of the pool
  };
  // How an exclusive pool treats the threads of a core.
  enum class Threads {
    One,  // one thread of a core is granted, its siblings stay idle
    All,  // whole cores only
    Any,  // single threads
  };
  enum class Order {
    Pack,    // fill what is in use
    Spread,  // over packages, dies, nodes, L3, L2, cores, in this order
  };

  // How the configuration names the CPUs.
  enum class Source {
    List,      // by number
    Isolated,  // those of isolcpus=
    Rest,      // those of no other pool that are not reserved
  };

  std::string name{};
  Source source = Source::List;
  CpuSet cpus{};  // empty before resolve_cpu_pools() if not listed
  Kind kind = Kind::Exclusive;
  Threads threads = Threads::One;
  Order order = Order::Pack;
  cpuset::Level within = cpuset::Level::Node;  // a request crosses this level only if it fits no zone of it
  bool never_crosses = false;                  // and not even then
  // The longest time that a granted CPU may take to leave an idle state, in microseconds; 0: it enters none. Nullopt:
  // unchanged. Of an exclusive pool.
  std::optional<uint32_t> latency_us{};
  bool low_noise = false;  // keep interrupts and other work of the kernel off its CPUs
  friend bool operator==(const CpuPool&, const CpuPool&) = default;
};

using CpuPools = std::vector<CpuPool>;

// How the rest of the host is kept off the CPUs of pools (cpu.confine).
enum class Confinement {
  None,
  Slices,     // AllowedCPUs= of the slices of systemd
  Partition,  // and nrd.slice becomes a cpuset partition
};

// The pool of this name, if any.
inline const CpuPool* find_pool(const CpuPools& pools, std::string_view name) {
  return first_with(pools, &CpuPool::name, name);
}

// The pool that has `cpu`, if any: pools do not overlap.
inline const CpuPool* pool_with(const CpuPools& pools, CpuId cpu) {
  return first_if(pools, [cpu](const CpuPool& pool) { return pool.cpus.contains(cpu); });
}

// The CPUs of all of them.
inline CpuSet pooled_cpus(const CpuPools& pools) {
  CpuSet pooled;
  for (const CpuPool& pool : pools) pooled |= pool.cpus;
  return pooled;
}

// What a node has for pools.
struct PoolSite {
  const CpuSet& possible;
  const CpuSet& isolated;  // from the scheduler (isolcpus=)
  const std::vector<cpuset::Zone>& zones;
};

// `pools` with the CPUs that "isolated" and "rest" are on this node. BadRequest: there are none.
Result<CpuPools> resolve_cpu_pools(CpuPools pools, const ReservedCpus& reserved, const PoolSite& site);

// BadRequest with the pool: listed CPUs are reserved.
Result<void> check_cpu_pools(const CpuPools& pools, const ReservedCpus& reserved);
// BadRequest with the pool and its CPUs: CPUs that do not exist, are reserved or in another pool, cores divided between
// pools, no CPU left for the operating system.
Result<void> check_cpu_pools(const CpuPools& pools, const ReservedCpus& reserved, const PoolSite& site);

}  // namespace nrd
