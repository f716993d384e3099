#include "engine/model/capacity.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/find_in.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"

namespace nrd {
namespace {

bool is_guarantee_of(const Workload& workload, const std::string& origin) {
  return workload.origin == origin && workload.grant.pool == Pool::Guarantee && workload.spec.cache;
}

// Without a free class only those that are granted.
unsigned ways_of(const NodeState& state, const std::string& origin, unsigned reserved) {
  if (!choose_class(state, state.workloads)) {
    unsigned granted = 0;
    for (const auto& [id, workload] : state.workloads) {
      if (is_guarantee_of(workload, origin)) granted += workload.spec.cache->max;
    }
    return std::min(granted, reserved);
  }
  unsigned least = reserved;
  for (const auto& [cache, cpus] : state.facts.rdt.main().caches) {
    WayMask ways = guarantee_ways_for(state, origin) - foreign_ways(state, cache);
    for (const auto& [id, workload] : state.workloads) {
      const WayMask* granted = find_in(workload.grant.ways, cache);
      if (granted && !is_guarantee_of(workload, origin)) ways = ways - *granted;
    }
    least = std::min(least, ways.count());
  }
  return least;
}

CpuSet cpus_of(const NodeState& state, const CpuPool& pool, const std::string& origin) {
  CpuSet cpus = pool_for(state, pool, origin).cpus & state.facts.rdt.online;
  for (const auto& [id, workload] : state.workloads) {
    if (workload.origin != origin) cpus -= reserved_cpus_of(workload);
  }
  return cpus;
}

// Of the time that others do not request.
uint64_t milli_of(const NodeState& state, const CpuPool& pool, const std::string& origin) {
  const uint64_t all = uint64_t{1000} * (pool.cpus & state.facts.rdt.online).size();
  const uint64_t others = requested_milli(state, pool) - share_limit(state, pool, origin).requested;
  return std::min(share_limit(state, pool, origin).most, all - std::min(all, others));
}

ReserveCapacity capacity_of(const NodeState& state, const std::string& origin, const Reserve& reserve) {
  ReserveCapacity capacity;
  if (reserve.ways && main_layout(state)) capacity.ways = ways_of(state, origin, *reserve.ways);
  for (const CpuPool& pool : state.config->cpu_pools) {
    if (!reserve.pools || !reserve.pools->contains(pool.name)) continue;
    if (pool.kind == CpuPool::Kind::Exclusive) {
      capacity.cpus[pool.name] = cpus_of(state, pool, origin);
    } else {
      capacity.milli[pool.name] = milli_of(state, pool, origin);
    }
  }
  return capacity;
}

}  // namespace

Capacity capacity_of(const NodeState& state) {
  const NodeConfig& config = *state.config;
  Capacity capacity{.online = state.facts.rdt.online,
                    .caches = state.facts.rdt.main().caches,
                    .layouts = state.layouts,
                    .pools = config.cpu_pools,
                    .default_pool = config.default_pool,
                    .reserves = config.reserves};
  for (const auto& [origin, reserve] : config.reserves)
    capacity.by_origin[origin] = capacity_of(state, origin, reserve);
  return capacity;
}

uint64_t CapacityRevision::of(Capacity capacity) {
  if (revision_ > 0 && capacity == last_) return revision_;
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now().time_since_epoch());
  revision_ = std::max(revision_ + 1, static_cast<uint64_t>(now.count()));
  last_ = std::move(capacity);
  return revision_;
}

}  // namespace nrd
