#include "engine/model/reserves.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/find_in.h"
#include "engine/model/cpu_shares.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"

namespace nrd {
namespace {

Failure refused(const std::string& origin, const char* key, const std::string& problem, std::string allowed) {
  const std::string name = "reserve." + origin;
  return fail_at(ErrorCode::BadRequest, name, fmt::format("{}: {}: {}", name, key, problem), std::move(allowed));
}

std::string counted(uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// The highest ways of the guarantee pool, by origin.
std::map<std::string, WayMask> reserved_ways(const Reserves& reserves, const PoolPartition& layout) {
  std::map<std::string, WayMask> found;
  unsigned end = layout.guarantee.empty() ? 0 : layout.guarantee.end();
  for (const auto& [origin, reserve] : reserves) {
    if (!reserve.ways || *reserve.ways > end) continue;
    end -= *reserve.ways;
    found[origin] = WayMask::run(end, *reserve.ways) & layout.guarantee;
  }
  return found;
}

// What the origin has in `pool`; nullptr: its reserve does not concern CPUs.
const Reserve::Cpus* share_of(const Reserve& reserve, const CpuPool& pool) {
  static const Reserve::Cpus kNoCpus;
  if (!reserve.pools) return nullptr;
  const Reserve::Cpus* found = find_in(*reserve.pools, pool.name);
  return found ? found : &kNoCpus;
}

const Reserve::Cpus* own_share(const NodeState& state, const CpuPool& pool, const std::string& origin) {
  const Reserve* own = find_in(state.config->reserves, origin);
  return own ? share_of(*own, pool) : nullptr;
}

bool has_own_share(const NodeState& state, const std::string& origin) {
  const Reserve* own = find_in(state.config->reserves, origin);
  return own && own->pools;
}

// "2 CPUs", "CPU 4-7"
std::string text_of(const CpuPool& pool, const Reserve::Cpus& cpus) {
  if (pool.kind == CpuPool::Kind::Exclusive) return cpus.listed.empty() ? "no CPU" : "CPU " + cpus.listed.to_string();
  return fmt::format("{} thousandths of a CPU", kThousandths * cpus.of_share);
}

Result<void> check_listed(const std::string& origin, const CpuPool& pool, const CpuSet& listed,
                          const std::vector<cpuset::Zone>& zones) {
  const std::string key = "pools." + pool.name;
  if (const CpuSet outside = listed - pool.cpus; !outside.empty())
    return refused(origin, key.c_str(), fmt::format("CPU {} is not in the pool", outside.to_string()),
                   "CPUs of " + pool.cpus.to_string());
  if (pool.threads == CpuPool::Threads::Any) return {};
  for (const cpuset::Zone& core : zones) {
    const CpuSet threads = core.cpus & pool.cpus;
    if (core.level != cpuset::Level::Core || !threads.intersects(listed) || threads.is_subset_of(listed)) continue;
    return refused(origin, key.c_str(), fmt::format("CPU {} is not a whole core", (threads & listed).to_string()),
                   fmt::format("CPU {} too, or threads = \"any\" in the pool", threads.to_string()));
  }
  return {};
}

}  // namespace

Result<void> check_reserves(const Reserves& reserves, const CpuPools& pools, const std::vector<cpuset::Zone>& zones) {
  for (const auto& [origin, reserve] : reserves) {
    if (!reserve.pools) continue;
    for (const auto& [name, cpus] : *reserve.pools) {
      const std::string key = "pools." + name;
      const CpuPool* pool = find_pool(pools, name);
      if (!pool) return refused(origin, key.c_str(), "there is no such pool in cpu.pools", "names of pools");
      const bool is_exclusive = pool->kind == CpuPool::Kind::Exclusive;
      if (is_exclusive && cpus.of_share > 0)
        return refused(origin, key.c_str(), "the pool is exclusive", "a list of its CPUs in quotes");
      if (!is_exclusive && !cpus.listed.empty())
        return refused(origin, key.c_str(), "the pool is shared", "a number of CPUs");
      if (pool->cpus.empty()) continue;  // not resolved
      if (cpus.of_share > pool->cpus.size())
        return refused(origin, key.c_str(),
                       fmt::format("{}, but the pool has {}", counted(cpus.of_share, "CPU", "CPUs"), pool->cpus.size()),
                       fmt::format("at most {}", pool->cpus.size()));
      TRY(check_listed(origin, *pool, cpus.listed, zones));
    }
  }
  return {};
}

Result<void> check_reserved_ways(const Reserves& reserves, const PoolPartition& layout) {
  unsigned sum = 0;
  for (const auto& [origin, reserve] : reserves) {
    sum += reserve.ways.value_or(0);
    if (sum <= layout.guarantee.count()) continue;
    return refused(
        origin, "ways",
        fmt::format("{}, but the guarantee pool has {}", counted(sum, "way", "ways"), layout.guarantee.count()),
        fmt::format("at most {}, or more for cache_pools.guarantee", layout.guarantee.count()));
  }
  return {};
}

WayMask guarantee_ways_for(const NodeState& state, const std::string& origin) {
  const PoolPartition& layout = *main_layout(state);
  WayMask ways = layout.guarantee;
  for (const auto& [name, reserved] : reserved_ways(state.config->reserves, layout)) {
    if (name == origin) return reserved;
    ways = ways - reserved;
  }
  return ways;
}

CpuPool pool_for(const NodeState& state, const CpuPool& pool, const std::string& origin) {
  CpuPool permitted = pool;
  if (const Reserve::Cpus* own = own_share(state, pool, origin)) {
    permitted.cpus &= own->listed;
    return permitted;
  }
  for (const auto& [name, reserve] : state.config->reserves) {
    if (const Reserve::Cpus* other = share_of(reserve, pool)) permitted.cpus -= other->listed;
  }
  return permitted;
}

ShareLimit share_limit(const NodeState& state, const CpuPool& pool, const std::string& origin,
                       std::optional<WorkloadId> self) {
  const uint64_t online = kThousandths * (pool.cpus & state.facts.rdt.online).size();
  const Reserve::Cpus* own = own_share(state, pool, origin);
  ShareLimit limit{.most = own ? std::min(online, kThousandths * own->of_share) : online};
  for (const auto& [name, reserve] : state.config->reserves) {
    const Reserve::Cpus* other = own ? nullptr : share_of(reserve, pool);
    if (other) limit.most -= std::min(limit.most, kThousandths * other->of_share);
  }
  for (const auto& [id, workload] : state.workloads) {
    const bool counts = own ? workload.origin == origin : !has_own_share(state, workload.origin);
    if (counts && id != self) limit.requested += requested_milli(workload, pool);
  }
  return limit;
}

std::string ways_reserve_text(const NodeState& state, const std::string& origin, WayMask taken) {
  std::string text;
  for (const auto& [name, ways] : reserved_ways(state.config->reserves, *main_layout(state))) {
    const std::string key = fmt::format(" (reserve.{}.ways)", name);
    if (name == origin) {
      const WayMask left = ways - taken;
      const std::string run =
          left.is_contiguous() ? "" : fmt::format(", the longest run has {}", left.longest_run().count());
      return fmt::format("; origin {} has {} of {} reserved ways left{}{}", origin, left.count(), ways.count(), run,
                         key);
    }
    text += fmt::format("; {} ways are reserved for origin {}{}", ways.count(), name, key);
  }
  return text;
}

std::string pool_reserve_text(const NodeState& state, const CpuPool& pool, const std::string& origin) {
  std::string text;
  for (const auto& [name, reserve] : state.config->reserves) {
    const Reserve::Cpus* cpus = share_of(reserve, pool);
    if (!cpus) continue;
    const std::string reserved = fmt::format("{} of pool {}", text_of(pool, *cpus), pool.name);
    const std::string key = fmt::format(" (reserve.{}.pools)", name);
    if (name == origin) return fmt::format("; origin {} may have {}{}", origin, reserved, key);
    if (cpus->of_share > 0 || !cpus->listed.empty())
      text += fmt::format("; {} is reserved for origin {}{}", reserved, name, key);
  }
  return text;
}

}  // namespace nrd
