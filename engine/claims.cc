#include "engine/claims.h"

#include <algorithm>

#include "engine/setting.h"

namespace nrd {
namespace {

bool owns_class_of(const NodeState& state, CpuId cpu) {
  const Workload* owner = owner_of(state, cpu);
  return owner != nullptr && owner->grant.has_class();
}

// A workload or the infrastructure has it there, or it is what the OS is left with beside them.
bool is_needed(const NodeState& state, ClosId clos, CacheId cache) {
  if ((clos == kInfraClass || clos == ClosId{0}) && !infra_ways(state, cache).empty()) return true;
  return std::ranges::any_of(state.workloads, [clos, cache](const auto& entry) {
    const Grant& grant = entry.second.grant;
    return grant.ways.contains(cache) && (grant.clos == clos || clos == ClosId{0});
  });
}

}  // namespace

Baselines baselines_of(const store::Baselines& records) {
  Baselines baselines;
  for (const auto& [clos, cache, ways] : records.ways) baselines.ways[clos][cache] = ways;
  for (const auto& [cpu, clos] : records.cpus) baselines.cpus[cpu] = clos;
  baselines.frequencies = frequencies_of(records.frequencies);
  return baselines;
}

void add_baselines(store::Change& change, const Baselines& added) {
  for (const auto& [clos, caches] : added.ways) {
    for (const auto& [cache, ways] : caches) change.ways_baselines.push_back({clos, cache, ways});
  }
  for (const auto& [cpu, clos] : added.cpus) change.cpu_baselines.push_back({cpu, clos});
  change.frequency_baselines = to_records(added.frequencies);
}

void merge(Baselines& baselines, const Baselines& added) {
  for (const auto& [clos, caches] : added.ways) baselines.ways[clos].insert(caches.begin(), caches.end());
  baselines.cpus.insert(added.cpus.begin(), added.cpus.end());
  baselines.frequencies.insert(added.frequencies.begin(), added.frequencies.end());
}

Baselines still_ours(const NodeState& state) {
  NodeState idle = state;
  idle.workloads.clear();
  const Setting unused = setting_of(idle);
  Baselines kept = state.baselines;
  for (const auto& [clos, caches] : unused.rdt.ways) {
    for (const auto& [cache, baseline] : caches) {
      const auto group = state.observed.rdt.classes.find(clos);
      if (is_needed(state, clos, cache) || group == state.observed.rdt.classes.end()) continue;
      const auto ways = group->second.ways.find(cache);
      if (ways != group->second.ways.end() && ways->second != baseline) kept.ways[clos].erase(cache);
    }
    if (kept.ways[clos].empty()) kept.ways.erase(clos);
  }
  for (const auto& [cpu, home] : unused.rdt.cpus) {
    if (owns_class_of(state, cpu) || (state.groups.os | state.groups.infra).contains(cpu)) continue;
    const auto group = state.observed.rdt.classes.find(home);
    if (group == state.observed.rdt.classes.end() || !group->second.cpus.contains(cpu)) kept.cpus.erase(cpu);
  }
  return kept;
}

}  // namespace nrd
