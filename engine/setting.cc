#include "engine/setting.h"

#include <algorithm>

namespace nrd {
namespace {

constexpr ClosId kRootClass{0};

std::optional<ClosId> class_of(const rdt::Observed& observed, CpuId cpu) {
  for (const auto& [clos, group] : observed.classes) {
    if (group.cpus.contains(cpu)) return clos;
  }
  return std::nullopt;
}

std::optional<WayMask> ways_of(const rdt::Observed& observed, ClosId clos, CacheId cache) {
  const auto group = observed.classes.find(clos);
  if (group == observed.classes.end()) return std::nullopt;
  const auto ways = group->second.ways.find(cache);
  if (ways == group->second.ways.end()) return std::nullopt;
  return ways->second;
}

}  // namespace

Setting setting_of(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  rdt::Setting wanted;
  const auto exists = [&](CacheId cache) { return node.caches.contains(cache); };
  for (const auto& [clos, caches] : state.baselines.ways) {
    for (const auto& [cache, ways] : caches) {
      if (exists(cache)) wanted.ways[clos][cache] = ways;
    }
  }
  for (const auto& [cpu, clos] : state.baselines.cpus) {
    if (node.online.contains(cpu)) wanted.cpus[cpu] = clos;
  }
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cache, ways] : workload.grant.ways) {
      if (!exists(cache)) continue;
      wanted.ways[workload.grant.clos][cache] = ways;
      wanted.ways[kRootClass][cache] = os_ways(state, cache);
    }
    for (const CpuId cpu : (workload.spec.cpus & node.online).members()) wanted.cpus[cpu] = workload.grant.clos;
  }
  return {.rdt = std::move(wanted)};
}

Baselines unclaimed(const Setting& setting, const Baselines& baselines, const Observed& observed) {
  Baselines added;
  for (const auto& [clos, caches] : setting.rdt.ways) {
    const auto claimed = baselines.ways.find(clos);
    for (const auto& [cache, wanted] : caches) {
      if (claimed != baselines.ways.end() && claimed->second.contains(cache)) continue;
      if (const auto ways = ways_of(observed.rdt, clos, cache)) added.ways[clos][cache] = *ways;
    }
  }
  for (const auto& [cpu, wanted] : setting.rdt.cpus) {
    if (baselines.cpus.contains(cpu)) continue;
    if (const auto clos = class_of(observed.rdt, cpu)) added.cpus[cpu] = *clos;
  }
  return added;
}

Observed overlaid(Observed observed, const Setting& setting) {
  for (const auto& [clos, caches] : setting.rdt.ways) {
    for (const auto& [cache, ways] : caches) observed.rdt.classes[clos].ways[cache] = ways;
  }
  for (const auto& [cpu, home] : setting.rdt.cpus) {
    for (auto& [clos, group] : observed.rdt.classes) group.cpus.remove(cpu);
    observed.rdt.classes[home].cpus.add(cpu);
  }
  return observed;
}

std::vector<std::string> differences(const Setting& setting, const Observed& observed) {
  std::vector<std::string> found;
  for (const auto& [clos, caches] : setting.rdt.ways) {
    for (const auto& [cache, wanted] : caches) {
      const std::optional<WayMask> ways = ways_of(observed.rdt, clos, cache);
      if (ways == wanted) continue;
      found.push_back("COS" + std::to_string(clos.value) + " ways on cache " + std::to_string(cache.value) + ": " +
                      (ways ? ways->hex() : "gone") + ", not " + wanted.hex());
    }
  }
  for (const auto& [cpu, wanted] : setting.rdt.cpus) {
    const std::optional<ClosId> clos = class_of(observed.rdt, cpu);
    if (clos == wanted) continue;
    found.push_back("CPU " + std::to_string(cpu.value) + ": " +
                    (clos ? "COS" + std::to_string(clos->value) : std::string("a foreign group")) + ", not COS" +
                    std::to_string(wanted.value));
  }
  return found;
}

}  // namespace nrd
