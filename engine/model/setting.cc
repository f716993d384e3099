#include "engine/model/setting.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/find_in.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_noise.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/reserved_cpus.h"

namespace nrd {
namespace {

// The process, or one of its threads.
bool is_of_workload(const NodeState& state, const Task& process) {
  return std::ranges::any_of(state.workloads, [&process](const auto& entry) {
    return std::ranges::any_of(entry.second.spec.tasks, [&process](const Task& task) {
      return task.process == process.id && task.boot_id == process.boot_id;
    });
  });
}

// Infrastructure before workloads, so that existing grants override it.
void add_groups(rdt::Setting& wanted, const NodeState& state) {
  if (!main_layout(state)) return;
  const rdt::Node& node = state.facts.rdt;
  for (const CpuId cpu : (state.config->groups.os & node.online).members()) wanted.cpus[cpu] = kRootClass;
  for (const auto& [cache, cpus] : node.main().caches) {
    if (infra_ways(state, cache).empty()) continue;
    for (const CpuId cpu : (state.config->groups.infra & cpus & node.online).members()) wanted.cpus[cpu] = kInfraClass;
  }
}

// The classes in use; tasks run anywhere.
struct Members {
  CpuSet cpus;
  bool has_tasks = false;
};

using ClassWays = std::map<ClosId, std::map<CacheId, WayMask>>;

std::map<ClosId, Members> members_of_classes(const NodeState& state, const ClassWays& classes) {
  std::map<ClosId, Members> members;
  if (classes.contains(kInfraClass) && is_reserved_for_infra(state, kInfraClass)) {
    members[kInfraClass] = {.cpus = state.config->groups.infra,
                            .has_tasks = !state.config->groups.infra_processes.empty()};
  }
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.has_class()) continue;
    members[workload.grant.clos].cpus |= cpus_of(workload);
    members[workload.grant.clos].has_tasks |= names_tasks(workload.spec);
  }
  return members;
}

// Every other class on a cache with granted ways must not use these ways.
void add_bystanders(ClassWays& classes, const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  std::set<CacheId> used;
  for (const auto& [clos, caches] : classes) {
    for (const auto& [cache, ways] : caches) used.insert(cache);
  }
  const std::map<ClosId, Members> members = members_of_classes(state, classes);
  for (const CacheId cache : used) {
    const WayMask left = os_ways(state, cache);
    const CpuSet& cpus = node.cpus_of(cache);
    classes[kRootClass][cache] = left;
    for (const auto& [clos, its] : members) {
      if (its.has_tasks || its.cpus.intersects(cpus)) classes[clos].emplace(cache, left);
    }
  }
}

// A class that no longer needs its ways or its limit gets the values of a new group.
void add_unneeded(rdt::Setting& wanted, const NodeState& state) {
  const std::optional<rdt::MbaInfo>& mba = state.facts.rdt.capabilities.mba_info;
  for (const ClosId clos : wanted.made) {
    const rdt::Class* group = find_in(state.observed.rdt.classes, clos);
    if (!group) continue;
    for (const auto& [cache, ways] : group->ways) {
      const WayMask unused = new_group_ways(state, cache);
      const bool is_as_new = ways == unused && !group->split.contains(cache);
      if (!is_as_new && !unused.empty() && state.facts.rdt.has(cache)) wanted.ways[clos].emplace(cache, unused);
    }
    for (const auto& [cache, value] : group->bandwidth) {
      if (mba && value < mba->most) wanted.bandwidth[clos].emplace(cache, rdt::Bandwidth{mba->unit, mba->most});
    }
  }
}

// The groups of classes in use, and no other group that nrd owns.
void add_group_changes(rdt::Setting& wanted, const NodeState& state) {
  for (const auto& [clos, ways] : wanted.ways) wanted.made.insert(clos);
  for (const auto& [id, workload] : state.workloads) {
    if (workload.grant.has_class()) wanted.made.insert(workload.grant.clos);
  }
  wanted.made.erase(kRootClass);
  wanted.removed = state.made_groups;
  for (const ClosId clos : wanted.made) wanted.removed.erase(clos);
}

// Skip a number in a unit other than the current one: it would mean something else.
void add_bandwidth(rdt::Setting& wanted, const NodeState& state) {
  const std::optional<rdt::MbaInfo>& mba = state.facts.rdt.capabilities.mba_info;
  if (!mba) return;
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cache, limit] : workload.grant.bandwidth) {
      const bool is_settable = limit.unit == mba->unit && state.facts.rdt.level_of(3).caches.contains(cache);
      if (is_settable) wanted.bandwidth[workload.grant.clos][cache] = limit;
    }
  }
}

}  // namespace

ClassWays ways_in_use(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  ClassWays classes;
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cache, ways] : workload.grant.ways) {
      if (node.has(cache)) classes[workload.grant.clos][cache] = ways;
    }
  }
  for (const auto& [cache, cpus] : node.main().caches) {
    const WayMask ways = infra_ways(state, cache);
    if (!ways.empty()) classes[kInfraClass].emplace(cache, ways);
  }
  add_bystanders(classes, state);
  return classes;
}

namespace {

// The workloads that set frequencies. CPUs that share a domain with a workload's CPU change with it, so nrd must
// restore them as well.
class FrequencyOwners {
 public:
  explicit FrequencyOwners(const Workloads& workloads) {
    for (const auto& [id, workload] : workloads) {
      for (const auto& [cpu, knobs] : workload.grant.frequencies) {
        if (cpu.value >= by_cpu_.size()) by_cpu_.resize(cpu.value + 1);
        by_cpu_[cpu.value] = &workload;
        granted_.add(cpu);
      }
    }
  }

  // The CPU whose grant holds for `cpu`; nullopt: none of them sets it.
  std::optional<CpuId> leader_of(CpuId cpu, const CpuSet& domain) const {
    if (granted_.contains(cpu)) return cpu;
    if (!domain.intersects(granted_)) return std::nullopt;
    return (domain & granted_).members().front();
  }
  const Workload& owner_of(CpuId leader) const { return *by_cpu_[leader.value]; }

 private:
  std::vector<const Workload*> by_cpu_;
  CpuSet granted_;
};

CpuSet released_by(const FrequencyOwners& owners, const NodeState& state) {
  CpuSet released;
  for (const auto& [cpu, before] : state.baselines.frequencies) {
    const pstate::Cpu* facts = find_in(state.facts.pstate.cpus, cpu);
    if (facts && !owners.leader_of(cpu, facts->domain)) released.add(cpu);
  }
  return released;
}

}  // namespace

pstate::Setting frequency_setting_of(const NodeState& state) {
  const FrequencyOwners owners(state.workloads);
  pstate::Setting wanted;
  for (const auto& [cpu, facts] : state.facts.pstate.cpus) {
    const std::optional<CpuId> leader = owners.leader_of(cpu, facts.domain);
    if (!leader) continue;
    const pstate::FrequencySetting before = original_setting(state, cpu).value_or(pstate::FrequencySetting{});
    auto knobs = wanted_knobs(state, owners.owner_of(*leader), *leader, before);
    // Values of a replaced driver that the present one cannot take do not block other CPUs.
    if (!check_for_registers(cpu, facts.way, knobs)) continue;
    wanted.cpus.emplace_hint(wanted.cpus.end(), cpu, std::move(knobs));
  }
  for (const CpuId cpu : released_by(owners, state).members()) {
    wanted.put_back.emplace_hint(wanted.put_back.end(), cpu, given_back(state.baselines, cpu));
  }
  return wanted;
}

CpuSet released_frequencies(const NodeState& state) {
  return state.baselines.frequencies.empty() ? CpuSet() : released_by(FrequencyOwners(state.workloads), state);
}

rdt::Setting task_classes_of(const NodeState& state) {
  rdt::Setting wanted;
  if (!state.facts.rdt.main().cat) return wanted;
  std::set<ClosId> with_tasks;
  const auto add = [&](const Task& task, ClosId clos) {
    wanted.tasks[task] = clos;
    with_tasks.insert(clos);
  };
  const bool has_infra = std::ranges::any_of(
      state.facts.rdt.main().caches, [&](const auto& entry) { return !infra_ways(state, entry.first).empty(); });
  for (const Task& task : state.infra_tasks) {
    if (has_infra && !has_ended(state, task) && !is_of_workload(state, task)) add(task, kInfraClass);
  }
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.has_class()) continue;
    for (const Task& task : workload.spec.tasks) {
      if (!has_ended(state, task)) add(task, workload.grant.clos);
    }
    for (const Task& task : processes_of(state, workload.spec)) {
      if (!has_ended(state, task) && !is_of_workload(state, task)) add(task, workload.grant.clos);
    }
  }
  for (const auto& [task, clos] : state.baselines.tasks) {
    if (!has_ended(state, task)) wanted.tasks.emplace(task, kRootClass);
    if (!with_tasks.contains(clos)) wanted.without_tasks.insert(clos);
  }
  return wanted;
}

Setting task_setting_of(const NodeState& state) {
  return {.rdt = task_classes_of(state), .pstate = {}, .cpuset = cpu_setting_of(state)};
}

namespace {

// Tasks that other software puts into these would fill granted ways.
std::set<ClosId> classes_of_cpus_only(const NodeState& state) {
  std::set<ClosId> found;
  std::set<ClosId> others;
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.has_class()) continue;
    (names_tasks(workload.spec) ? others : found).insert(workload.grant.clos);
  }
  for (const ClosId clos : others) found.erase(clos);
  return found;
}

// Without cache allocation there are no classes, and the kernel has reset what they had. Grants wait for its return.
rdt::Setting classes_of(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  rdt::Setting wanted = task_classes_of(state);
  if (!node.main().cat) return wanted;
  wanted.ways = ways_in_use(state);
  for (const auto& [clos, caches] : state.baselines.ways) {
    for (const auto& [cache, ways] : caches) {
      if (!node.has(cache)) continue;
      // The kernel refuses a mask with ways that a group has pseudo-locked since.
      const WayMask locked = locked_ways(state, cache);
      wanted.ways[clos].emplace(cache, ways.intersects(locked) ? (ways - locked).longest_run() : ways);
    }
  }
  for (const auto& [cpu, clos] : state.baselines.cpus) {
    if (node.online.contains(cpu)) wanted.cpus[cpu] = clos;
  }
  add_groups(wanted, state);
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cache, ways] : workload.grant.ways) {
      // Mounted without CDP since: code and data share the ways, and code_problem() reports it.
      const bool can_split = node.has(cache) && node.cat_of(cache) && node.cat_of(cache)->cdp;
      const auto split = can_split ? split_of(workload, cache) : std::nullopt;
      if (split) wanted.split[workload.grant.clos][cache] = *split;
    }
    if (!workload.grant.has_class()) continue;
    for (const CpuId cpu : (cpus_of(workload) & node.online).members()) wanted.cpus[cpu] = workload.grant.clos;
  }
  add_bandwidth(wanted, state);
  wanted.without_tasks.merge(classes_of_cpus_only(state));
  add_group_changes(wanted, state);
  return_strays(wanted, state);
  add_unneeded(wanted, state);
  return wanted;
}

}  // namespace

void return_strays(rdt::Setting& wanted, const NodeState& state) {
  for (const ClosId clos : wanted.made) {
    const rdt::Class* group = find_in(state.observed.rdt.classes, clos);
    if (!group) continue;
    for (const CpuId cpu : (group->cpus & state.facts.rdt.online).members()) wanted.cpus.try_emplace(cpu, kRootClass);
  }
}

Setting setting_of(const NodeState& state) {
  cpuset::Setting cpus = cpu_setting_of(state);
  cpus.shares = shares_in_use(state);
  for (const auto& [target, before] : state.baselines.cpu_shares) {
    if (!is_gone(state, target)) cpus.shares.try_emplace(target, before);
  }
  add_memory(cpus, state);
  cpus.latency = latency_in_use(state);
  cpus.latency.insert(state.baselines.latency.begin(), state.baselines.latency.end());
  add_noise(cpus, state);
  return {.rdt = classes_of(state), .pstate = frequency_setting_of(state), .cpuset = std::move(cpus)};
}

}  // namespace nrd
