// What holds after whatever was asked in whatever order.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "engine/model/cpu_sets.h"
#include "engine/model/setting.h"
#include "engine/model/setting_changes.h"
#include "engine/transaction/transaction.h"
#include "tests/unit/dice.h"
#include "tests/unit/engine/fake_node.h"

namespace nrd::testing {

// Within the limits or not.
inline FrequencyRequest a_random_frequency(Dice& dice) {
  FrequencyRequest request;
  request.max = 1 + dice.below(40);
  if (dice.once_in(2)) request.min = 1 + dice.below(*request.max);
  if (dice.once_in(3)) request.governor = dice.once_in(2) ? "performance" : "powersave";
  if (dice.once_in(4)) request.epp = "power";
  if (dice.once_in(4)) request.turbo = false;
  if (dice.once_in(2)) request.shared_domain = FrequencyRequest::SharedDomain::Allow;
  return request;
}

inline WayMask pool_ways(const PoolPartition& layout, Pool pool) {
  return pool == Pool::Guarantee ? layout.guarantee : pool == Pool::BestEffort ? layout.besteffort : layout.shared;
}

inline bool is_at_least(const rdt::Bandwidth& limit, const MbaRequest& request, uint32_t most) {
  constexpr uint64_t kMbpsOfAnEighth = 125;
  const uint64_t value = limit.value;
  if (request.unit == MbaRequest::Unit::Percentage) return value * 100 >= uint64_t{request.value} * most;
  return (limit.unit == rdt::MbaUnit::EighthsOfGbps ? value * kMbpsOfAnEighth : value) >= request.value;
}

// The number of zones of `level` that `cpus` are in.
inline size_t zones_with(const NodeState& state, const CpuSet& cpus, cpuset::Level level) {
  return static_cast<size_t>(std::ranges::count_if(state.facts.cpuset.zones, [&](const cpuset::Zone& zone) {
    return zone.level == level && zone.cpus.intersects(cpus);
  }));
}

inline CpuSet whole_cores(const NodeState& state, const CpuSet& cpus) {
  CpuSet whole;
  for (const cpuset::Zone& zone : state.facts.cpuset.zones) {
    if (zone.level == cpuset::Level::Core && zone.cpus.intersects(cpus)) whole |= zone.cpus;
  }
  return whole;
}

// In number and place as requested.
inline void check_grant(const NodeState& state, const CpuRequest& request, const CpuGrant& grant) {
  const CpuPool* pool = find_pool(state.config->cpu_pools, request.pool);
  REQUIRE(pool);
  REQUIRE(grant.pool == pool->name);
  const CpuSet& cpus = grant.exclusive;
  if (pool->kind == CpuPool::Kind::Shared) {
    REQUIRE((cpus | grant.idle_siblings).empty());
    return;
  }
  REQUIRE_FALSE(cpus.empty());
  REQUIRE((cpus | grant.idle_siblings).is_subset_of(pool->cpus));
  REQUIRE_FALSE(cpus.intersects(grant.idle_siblings));
  if (request.count > 0) REQUIRE(cpus.size() == request.count);
  if (request.cores > 0) REQUIRE(zones_with(state, cpus, cpuset::Level::Core) == request.cores);
  if (!request.cpus.empty()) REQUIRE(cpus == request.cpus);
  const CpuSet whole = whole_cores(state, cpus);
  const bool is_one = pool->threads == CpuPool::Threads::One && request.cores == 0;
  if (request.cores > 0 || pool->threads == CpuPool::Threads::All) REQUIRE(cpus == whole);
  REQUIRE(grant.idle_siblings == (is_one ? (whole & pool->cpus) - cpus : CpuSet()));
  if (pool->never_crosses && pool->within != cpuset::Level::Machine) {
    const size_t zones = zones_with(state, cpus, pool->within);
    REQUIRE(zones <= 1);  // the machine may lack this level
  }
}

// Of each pool as requested, and no CPU of the operating system.
inline void check_cpus(const NodeState& state, const Workload& workload) {
  std::vector<CpuRequest> requests;
  for (const CpuRequest* request : cpu_requests_of(workload.spec)) requests.push_back(*request);
  if (requests.empty()) requests.push_back({.pool = workload.grant.cpu->pool, .cpus = workload.spec.cpus});  // core_ids
  const std::span<const CpuGrant> grants = cpu_grants_of(workload);
  REQUIRE(grants.size() == requests.size());
  for (size_t i = 0; i < grants.size(); ++i) check_grant(state, requests[i], grants[i]);
  if (requests.front().strict) {
    for (const CpuSet& near : workload.spec.near_cpus) REQUIRE(cpus_of(workload).is_subset_of(near));
  }
  for (const std::string& id : requests.front().apart) {
    const Workload* other = workload_with_id(state, id);
    if (!other) continue;
    const cpuset::Level level = requests.front().level;
    REQUIRE(zones_with(state, cpus_of(workload), level) + zones_with(state, cpus_of(*other), level) ==
            zones_with(state, cpus_of(workload) | cpus_of(*other), level));
  }
  REQUIRE_FALSE(reserved_cpus_of(workload).intersects(state.config->groups.os));
  for (const auto& [id, other] : state.workloads) {
    if (id != workload.id) REQUIRE_FALSE(reserved_cpus_of(other).intersects(reserved_cpus_of(workload)));
  }
  REQUIRE(is_applied(state, workload));
}

// Where it may have ways; empty: everywhere.
inline CpuSet places_of(const Workload& workload) {
  const std::span<const CpuGrant> grants = cpu_grants_of(workload);
  const auto is_shared = [](const CpuGrant& grant) { return grant.exclusive.empty(); };
  if (grants.empty() || std::ranges::any_of(grants, is_shared)) return workload.spec.cpus | workload.spec.task_cpus;
  return cpus_of(workload);
}

inline void check_workload(const NodeState& state, const NodeShape& shape, const Workload& workload) {
  const auto& [pool, clos, ways, frequencies, bandwidth, granted_cpus, cpus_by_pool] = workload.grant;
  REQUIRE(frequencies.size() == (workload.spec.frequency ? cpus_of(workload).size() : 0));
  if (workload.spec.cpu) REQUIRE(granted_cpus);
  REQUIRE(cpus_by_pool.empty() == workload.spec.further_cpus.empty());
  if (granted_cpus) check_cpus(state, workload);
  for (const auto& [cpu, knobs] : frequencies) {
    const pstate::Cpu& limits = state.facts.pstate.cpus.at(cpu);
    REQUIRE((limits.min <= knobs.min && knobs.min <= knobs.max && knobs.max <= limits.max));
    REQUIRE(knobs.max.value % kBusClock.value == 0);
  }
  REQUIRE(workload.grant.has_class() == workload.spec.asks_for_ways());
  if (!workload.grant.has_class()) {
    REQUIRE(ways.empty());
    return;
  }
  REQUIRE(ways.size() >= 1);
  const CpuSet places = places_of(workload);
  for (const auto& [cache, cpus] : state.facts.rdt.level_of(2).caches) {
    REQUIRE(ways.contains(cache) == (workload.spec.l2 && (places.empty() || cpus.intersects(places))));
    if (!ways.contains(cache)) continue;
    REQUIRE(ways.at(cache).is_contiguous());
    REQUIRE(ways.at(cache).count() == workload.spec.l2->ways);
    REQUIRE_FALSE(ways.at(cache).intersects(os_ways(state, cache)));
  }
  for (const auto& [cache, cpus] : state.facts.rdt.main().caches) {
    REQUIRE(ways.contains(cache) == (workload.spec.cache && (places.empty() || cpus.intersects(places))));
    if (!ways.contains(cache)) continue;
    const WayMask mask = ways.at(cache);
    REQUIRE(mask.is_contiguous());
    REQUIRE(mask.count() >= shape.min_ways);
    REQUIRE(pool_ways(*main_layout(state), pool).contains(mask));
    if (pool == Pool::Guarantee) REQUIRE(mask.count() == workload.spec.cache->max);
    if (pool == Pool::BestEffort) {
      REQUIRE(mask.count() >= workload.spec.cache->min);
      REQUIRE(mask.count() <= workload.spec.cache->max);
    }
    REQUIRE_FALSE(mask.intersects(os_ways(state, cache)));
  }
  REQUIRE(clos.value > 0);
  REQUIRE(clos.value < shape.classes);
  for (const auto& [cache, limit] : bandwidth) {
    REQUIRE(ways.contains(cache));
    REQUIRE(workload.spec.mba);
    REQUIRE(is_at_least(limit, *workload.spec.mba, state.facts.rdt.capabilities.mba_info->most));  // rounded up
  }
}

inline void check_pair(const Workload& a, const Workload& b) {
  REQUIRE_FALSE(reserved_cpus_of(a).intersects(reserved_cpus_of(b)));
  const bool both_shared = a.grant.pool == Pool::Shared && b.grant.pool == Pool::Shared;
  if (!a.grant.has_class() || !b.grant.has_class()) return;
  REQUIRE((a.grant.clos == b.grant.clos) == both_shared);
  if (both_shared) return;
  for (const auto& [cache, ways] : a.grant.ways) {
    const auto other = b.grant.ways.find(cache);
    if (other != b.grant.ways.end()) REQUIRE_FALSE(ways.intersects(other->second));
  }
}

// Ways that a workload was granted are in the mask of no other class whose members may run there.
inline void check_exclusive(const NodeState& state, const FakeHardware& hardware, const Workload& workload) {
  for (const auto& [cache, ways] : workload.grant.ways) {
    const CpuSet& cpus = state.facts.rdt.cpus_of(cache);
    for (const auto& [clos, group] : hardware.tree.rdt.classes) {
      const bool may_run_there = clos == ClosId{0} || group.cpus.intersects(cpus) || hardware.tasks_in(clos) > 0;
      if (clos == workload.grant.clos || !may_run_there) continue;
      REQUIRE_FALSE(group.ways.at(cache).intersects(ways));
    }
  }
}

// A workload is called exclusive if no foreign group that has CPUs on one of its caches, or tasks, has a way of it.
inline void check_called_exclusive(const NodeState& state, const FakeHardware& hardware, const Workload& workload) {
  bool is_filled = false;
  for (const auto& [cache, ways] : workload.grant.ways) {
    for (const auto& [name, group] : hardware.tree.rdt.foreign) {
      const bool runs_there = group.tasks > 0 || group.cpus.intersects(state.facts.rdt.cpus_of(cache));
      is_filled |= runs_there && group.ways.at(cache).intersects(ways);
    }
  }
  const bool is_alone = workload.grant.has_class() && workload.grant.pool != Pool::Shared && !is_filled;
  REQUIRE(is_exclusive(state, workload) == is_alone);
}

// The OS fills the longest run of ways that neither workloads nor foreign groups have, or all of them where masks may
// have holes: counted from the groups themselves, way by way.
inline void check_idle(const NodeState& state, const FakeHardware& hardware, CacheId cache) {
  const rdt::Cat& cat = *state.facts.rdt.cat_of(cache);
  const WayMask all = WayMask::all(cat.ways);
  const WayMask os = hardware.tree.rdt.classes.at(ClosId{0}).ways.at(cache);
  WayMask granted, taken;
  for (const auto& [id, workload] : state.workloads) {
    if (workload.grant.ways.contains(cache)) granted = granted | workload.grant.ways.at(cache);
  }
  for (const auto& [name, group] : hardware.tree.rdt.foreign) {
    if (group.ways.contains(cache) && group.ways.at(cache) != all) taken = taken | group.ways.at(cache);
  }
  if (granted.empty()) {
    REQUIRE(os == all);
    return;
  }
  unsigned free = 0, run = 0, longest = 0;
  for (unsigned way = 0; way < cat.ways; ++way) {
    const bool is_free = !(granted | taken).contains(WayMask::run(way, 1));
    free += is_free;
    run = is_free ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const unsigned most = cat.sparse_masks ? free : longest;
  REQUIRE_FALSE(os.intersects(granted));
  if (most < cat.min_ways) {  // foreign groups hold the floor
    REQUIRE(os.count() == cat.min_ways);
    return;
  }
  REQUIRE_FALSE(os.intersects(taken));
  REQUIRE(os.count() == most);
  REQUIRE((os.is_contiguous() || cat.sparse_masks));
  REQUIRE(idle_ways(state, cache).count() == free - most);
}

// Who is in no workload is in the root class, and who is in one in its class.
inline void check_tasks(const NodeState& state, const FakeHardware& hardware) {
  std::map<Task, std::string> homes;
  for (const auto& [id, workload] : state.workloads) {
    for (const Task& task : workload.spec.tasks) {
      const std::string home = workload.grant.has_class() ? "COS" + std::to_string(workload.grant.clos.value) : "";
      const bool is_new = homes.emplace(task, home).second;
      REQUIRE(is_new);
    }
  }
  for (const auto& [task, place] : hardware.tasks) {
    const auto home = homes.find(task);
    REQUIRE(place == (home == homes.end() ? std::string() : home->second));
  }
}

// A class is limited as its workload was granted, or not at all.
inline void check_bandwidth(const NodeState& state, const FakeHardware& hardware) {
  const auto& mba = state.facts.rdt.capabilities.mba_info;
  if (!mba) return;
  std::map<ClosId, std::map<CacheId, uint32_t>> limits;
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cache, limit] : workload.grant.bandwidth) limits[workload.grant.clos][cache] = limit.value;
  }
  for (const auto& [clos, group] : hardware.tree.rdt.classes) {
    for (const auto& [cache, value] : group.bandwidth) {
      REQUIRE(value == (limits[clos].contains(cache) ? limits[clos].at(cache) : mba->most));
    }
  }
}

// Without what `seen` does not tell of a group that was made since: its masks and limits where it has no workload; and
// without the targets, shares of CPU time, memory, latency limits and noise that nrd does not ask for.
inline Observed as_seen(Observed tree, const Observed& seen) {
  for (auto& [clos, group] : tree.rdt.classes) {
    const auto known = seen.rdt.classes.find(clos);
    if (known == seen.rdt.classes.end()) continue;
    std::erase_if(group.ways, [&](const auto& entry) { return !known->second.ways.contains(entry.first); });
    std::erase_if(group.bandwidth, [&](const auto& entry) { return !known->second.bandwidth.contains(entry.first); });
  }
  std::erase_if(tree.cpuset.targets, [&](const auto& entry) { return !seen.cpuset.targets.contains(entry.first); });
  for (const auto& [target, masks] : seen.cpuset.targets) tree.cpuset.targets.try_emplace(target);  // has ended
  std::erase_if(tree.cpuset.memory, [&](const auto& entry) { return !seen.cpuset.memory.contains(entry.first); });
  for (auto& [target, memory] : tree.cpuset.memory) {
    if (memory.own.empty()) memory.nodes = seen.cpuset.memory.at(target).nodes;  // its parent's: read again when needed
  }
  std::erase_if(tree.cpuset.shares, [&](const auto& entry) { return !seen.cpuset.shares.contains(entry.first); });
  std::erase_if(tree.cpuset.latency, [&](const auto& entry) { return !seen.cpuset.latency.contains(entry.first); });
  tree.cpuset.noise = seen.cpuset.noise;
  return tree;
}

// Without the state of tasks, which is observed only on request.
inline Observed without_tasks(Observed observed) {
  observed.rdt.tasks.clear();
  for (auto& [clos, group] : observed.rdt.classes) group.tasks = 0;
  return observed;
}

inline void check_all(const NodeState& state, const NodeShape& shape, FakeHardware& hardware, const FakeStore& store) {
  for (auto a = state.workloads.begin(); a != state.workloads.end(); ++a) {
    check_workload(state, shape, a->second);
    REQUIRE(is_applied(state, a->second));
    check_exclusive(state, hardware, a->second);
    check_called_exclusive(state, hardware, a->second);
    for (auto b = std::next(a); b != state.workloads.end(); ++b) check_pair(a->second, b->second);
  }
  const Observed seen = *hardware.observe(state.facts.rdt.possible, known_tasks(state), query_of(state));
  REQUIRE(differences(setting_of(state), seen).empty());
  REQUIRE(without_tasks(state.observed) == without_tasks(as_seen(hardware.tree, state.observed)));
  check_tasks(state, hardware);
  check_bandwidth(state, hardware);
  for (const auto& [cache, cpus] : state.facts.rdt.main().caches) check_idle(state, hardware, cache);
  for (const auto& [cache, cpus] : state.facts.rdt.level_of(2).caches) {
    if (state.facts.rdt.level_of(2).cat) check_idle(state, hardware, cache);
  }
  REQUIRE(store.records.workloads.size() == state.workloads.size());
  for (const store::WorkloadRow& row : store.records.workloads) {
    REQUIRE(from_row(row) == state.workloads.at(row.id));
  }
  REQUIRE(baselines_of(store.records.baselines) == state.baselines);
}

}  // namespace nrd::testing
