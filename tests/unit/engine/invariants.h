// What holds after whatever was asked in whatever order, and dice to ask by.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "engine/model/cpu_sets.h"
#include "engine/model/setting.h"
#include "engine/model/setting_changes.h"
#include "engine/transaction/transaction.h"
#include "tests/unit/engine/fake_node.h"

namespace nrd::testing {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  unsigned below(unsigned end) { return static_cast<unsigned>(engine_()) % end; }
  bool once_in(unsigned n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

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

// Its own, in number and place as requested, and its tasks run there.
inline void check_cpus(const NodeState& state, const Workload& workload) {
  const CpuGrant& grant = *workload.grant.cpu;
  const CpuPool* pool = find_pool(state.config->cpu_pools, grant.pool);
  REQUIRE(pool);
  REQUIRE(reserved_cpus_of(workload).is_subset_of(pool->cpus));
  REQUIRE_FALSE(grant.exclusive.intersects(grant.idle_siblings));
  if (workload.spec.cpu->count > 0) REQUIRE(grant.exclusive.size() == workload.spec.cpu->count);
  for (const auto& [id, other] : state.workloads) {
    if (id != workload.id) REQUIRE_FALSE(reserved_cpus_of(other).intersects(reserved_cpus_of(workload)));
  }
  REQUIRE(is_applied(state, workload));
}

inline void check_workload(const NodeState& state, const NodeShape& shape, const Workload& workload) {
  const auto& [pool, clos, ways, frequencies, bandwidth, granted_cpus, cpus_by_pool] = workload.grant;
  REQUIRE(frequencies.size() == (workload.spec.frequency ? cpus_of(workload).size() : 0));
  REQUIRE(granted_cpus.has_value() == workload.spec.cpu.has_value());
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
  const CpuSet places = cpus_of(workload) | workload.spec.task_cpus;
  for (const auto& [cache, cpus] : state.facts.rdt.l2) {
    REQUIRE(ways.contains(cache) == (workload.spec.l2 && cpus.intersects(places)));
    if (!ways.contains(cache)) continue;
    REQUIRE(ways.at(cache).is_contiguous());
    REQUIRE(ways.at(cache).count() == workload.spec.l2->ways);
    REQUIRE_FALSE(ways.at(cache).intersects(os_ways(state, cache)));
  }
  for (const auto& [cache, cpus] : state.facts.rdt.caches) {
    REQUIRE(ways.contains(cache) == (workload.spec.cache && cpus.intersects(places)));
    if (!ways.contains(cache)) continue;
    const WayMask mask = ways.at(cache);
    REQUIRE(mask.is_contiguous());
    REQUIRE(mask.count() >= shape.min_ways);
    REQUIRE(pool_ways(*state.layout, pool).contains(mask));
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
      const bool is_new = homes.emplace(task, "COS" + std::to_string(workload.grant.clos.value)).second;
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
// without the shares of CPU time, the latency limits and the noise that nrd does not ask for.
inline Observed as_seen(Observed tree, const Observed& seen) {
  for (auto& [clos, group] : tree.rdt.classes) {
    const auto known = seen.rdt.classes.find(clos);
    if (known == seen.rdt.classes.end()) continue;
    std::erase_if(group.ways, [&](const auto& entry) { return !known->second.ways.contains(entry.first); });
    std::erase_if(group.bandwidth, [&](const auto& entry) { return !known->second.bandwidth.contains(entry.first); });
  }
  std::erase_if(tree.cpuset.memory, [&](const auto& entry) { return !seen.cpuset.memory.contains(entry.first); });
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
  for (const auto& [cache, cpus] : state.facts.rdt.caches) check_idle(state, hardware, cache);
  for (const auto& [cache, cpus] : state.facts.rdt.l2) {
    if (state.facts.rdt.l2_cat) check_idle(state, hardware, cache);
  }
  REQUIRE(store.records.workloads.size() == state.workloads.size());
  for (const store::WorkloadRow& row : store.records.workloads) {
    REQUIRE(from_row(row) == state.workloads.at(row.id));
  }
  REQUIRE(baselines_of(store.records.baselines) == state.baselines);
}

}  // namespace nrd::testing
