#include "engine/model/cpu_pools.h"

#include <fmt/core.h>

#include <string>

#include "engine/model/reserved_cpus.h"

namespace nrd {
namespace {

// `pool`: one of `pools`. The field has its index, which leads to its line in the configuration.
Failure refused(const CpuPools& pools, const CpuPool& pool, const std::string& problem, const std::string& allowed) {
  return fail_at(ErrorCode::BadRequest, fmt::format("cpu.pools/{}", &pool - pools.data()),
                 fmt::format("cpu.pools: pool {}: {}", pool.name, problem), allowed);
}

Result<void> check_exist(const CpuPools& pools, const CpuPool& pool, const CpuSet& possible) {
  const CpuSet unknown = pool.cpus - possible;
  if (unknown.empty()) return {};
  return refused(pools, pool,
                 fmt::format("CPU {} does not exist; this node has CPUs {}", unknown.to_string(), possible.to_string()),
                 "CPUs of " + possible.to_string());
}

Result<void> check_not_reserved(const CpuPools& pools, const CpuPool& pool, const ReservedCpus& reserved) {
  for (const auto& [key, cpus] : {std::pair{"os.cpus", &reserved.os}, std::pair{"infra.cpus", &reserved.infra}}) {
    const CpuSet both = *cpus & pool.cpus;
    if (!both.empty())
      return refused(pools, pool, fmt::format("CPU {} is also in {}", both.to_string(), key), "CPUs of one of them");
  }
  return {};
}

Result<void> check_disjoint(const CpuPools& pools, const CpuPool& pool) {
  for (const CpuPool& other : pools) {
    const CpuSet both = other.cpus & pool.cpus;
    if (other.name == pool.name || both.empty()) continue;
    return refused(pools, pool, fmt::format("CPU {} is also in pool {}", both.to_string(), other.name),
                   "each CPU in one pool");
  }
  return {};
}

// A pool that keeps siblings idle, or grants whole cores, must have all threads of its cores, or the others in no pool.
Result<void> check_siblings(const CpuPools& pools, const CpuPool& pool, const std::vector<cpuset::Zone>& zones) {
  if (pool.kind == CpuPool::Kind::Shared || pool.threads == CpuPool::Threads::Any) return {};
  for (const cpuset::Zone& core : zones) {
    if (core.level != cpuset::Level::Core || !core.cpus.intersects(pool.cpus)) continue;
    for (const CpuPool& other : pools) {
      const CpuSet both = core.cpus & other.cpus;
      if (other.name == pool.name || both.empty()) continue;
      return refused(pools, pool,
                     fmt::format("its CPU {} shares a core with CPU {} of pool {}", (core.cpus & pool.cpus).to_string(),
                                 both.to_string(), other.name),
                     "all threads of a core in one pool, or threads = \"any\"");
    }
  }
  return {};
}

}  // namespace

Result<CpuPools> resolve_cpu_pools(CpuPools pools, const ReservedCpus& reserved, const PoolSite& site) {
  CpuSet taken = reserved.os | reserved.infra;
  for (CpuPool& pool : pools) {
    if (pool.source == CpuPool::Source::Isolated) pool.cpus = site.isolated;
    if (pool.source != CpuPool::Source::Rest) taken |= pool.cpus;
  }
  for (CpuPool& pool : pools) {
    if (pool.source == CpuPool::Source::Rest) pool.cpus = site.possible - taken;
    if (!pool.cpus.empty()) continue;
    if (pool.source == CpuPool::Source::Isolated)
      return refused(pools, pool,
                     "cpus is \"isolated\", but the kernel isolates no CPU: its command line has no isolcpus=",
                     "a list of CPUs, or isolcpus= on the kernel's command line");
    return refused(pools, pool, "cpus is \"rest\", but all CPUs are in other pools, os.cpus or infra.cpus",
                   "at least one CPU");
  }
  return pools;
}

Result<void> check_cpu_pools(const CpuPools& pools, const ReservedCpus& reserved) {
  for (const CpuPool& pool : pools) TRY(check_not_reserved(pools, pool, reserved));
  return {};
}

Result<void> check_cpu_pools(const CpuPools& pools, const ReservedCpus& reserved, const PoolSite& site) {
  for (const CpuPool& pool : pools) {
    TRY(check_exist(pools, pool, site.possible));
    TRY(check_not_reserved(pools, pool, reserved));
    TRY(check_disjoint(pools, pool));
    TRY(check_siblings(pools, pool, site.zones));
  }
  if (pools.empty() || !site.possible.is_subset_of(pooled_cpus(pools))) return {};
  return refused(pools, pools.back(), "the pools have all CPUs, so the operating system would have none",
                 "at least one CPU in no pool");
}

}  // namespace nrd
