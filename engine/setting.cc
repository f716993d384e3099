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

// What a CPU shows that was offline when the others of its domain were claimed is our own doing: it was what they were.
std::optional<pstate::Knobs> before_of_domain(const NodeState& state, CpuId cpu) {
  for (const CpuId other : state.facts.pstate.cpus.at(cpu).domain.members()) {
    const auto claimed = state.baselines.frequencies.find(other);
    if (claimed != state.baselines.frequencies.end()) return claimed->second;
  }
  return std::nullopt;
}

// Whoever shares a domain with a CPU of a workload changes along, and is ours to put back as well.
pstate::Setting frequencies_of(const NodeState& state) {
  std::map<CpuId, const Workload*> owners;
  CpuSet granted;
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cpu, knobs] : workload.grant.frequencies) {
      owners[cpu] = &workload;
      granted.add(cpu);
    }
  }
  pstate::Setting wanted;
  for (const auto& [cpu, facts] : state.facts.pstate.cpus) {
    const CpuSet leaders = granted.contains(cpu) ? CpuSet{cpu.value} : facts.domain & granted;
    const auto claimed = state.baselines.frequencies.find(cpu);
    if (!leaders.empty()) {
      const CpuId leader = leaders.members().front();
      const pstate::Knobs before = before_us(state, cpu).value_or(pstate::Knobs{});
      wanted.cpus[cpu] = wanted_knobs(state, *owners.at(leader), leader, before);
    } else if (claimed != state.baselines.frequencies.end()) {
      wanted.put_back[cpu] = claimed->second;
    }
  }
  return wanted;
}

// Before the workloads: what these were granted earlier goes before.
void add_groups(rdt::Setting& wanted, const NodeState& state) {
  if (!state.layout) return;
  const rdt::Node& node = state.facts.rdt;
  for (const CpuId cpu : (state.groups.os & node.online).members()) wanted.cpus[cpu] = kRootClass;
  for (const auto& [cache, cpus] : node.caches) {
    const WayMask ways = infra_ways(state, cache);
    if (ways.empty()) continue;
    wanted.ways[kInfraClass][cache] = ways;
    wanted.ways[kRootClass][cache] = os_ways(state, cache);
    for (const CpuId cpu : (state.groups.infra & cpus & node.online).members()) wanted.cpus[cpu] = kInfraClass;
  }
}

std::string text_of(const pstate::Knobs& knobs) {
  std::string text = std::to_string(knobs.min.value) + "-" + std::to_string(knobs.max.value) + " kHz";
  if (!knobs.governor.empty()) text += " " + knobs.governor;
  if (!knobs.epp.empty()) text += " " + knobs.epp;
  return text;
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
  add_groups(wanted, state);
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cache, ways] : workload.grant.ways) {
      if (!exists(cache)) continue;
      wanted.ways[workload.grant.clos][cache] = ways;
      wanted.ways[kRootClass][cache] = os_ways(state, cache);
    }
    if (!workload.grant.has_class()) continue;
    for (const CpuId cpu : (workload.spec.cpus & node.online).members()) wanted.cpus[cpu] = workload.grant.clos;
  }
  return {.rdt = std::move(wanted), .pstate = frequencies_of(state)};
}

Baselines unclaimed(const NodeState& state, const Setting& setting) {
  const Baselines& baselines = state.baselines;
  const Observed& observed = state.observed;
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
  for (const auto& [cpu, wanted] : setting.pstate.cpus) {
    const auto found = observed.pstate.cpus.find(cpu);
    if (baselines.frequencies.contains(cpu) || found == observed.pstate.cpus.end()) continue;
    added.frequencies[cpu] =
        found->second == wanted ? before_of_domain(state, cpu).value_or(found->second) : found->second;
  }
  return added;
}

CpuSet unseen(const NodeState& state, const Setting& setting) {
  CpuSet cpus;
  for (const auto& [cpu, wanted] : setting.pstate.cpus) {
    if (!before_us(state, cpu)) cpus.add(cpu);
  }
  return cpus;
}

Setting changes(Setting setting, const Setting& before) {
  const auto leave_out_same = [](auto& cpus, const auto& as_before) {
    std::erase_if(cpus, [&as_before](const auto& entry) {
      const auto same = as_before.find(entry.first);
      return same != as_before.end() && same->second == entry.second;
    });
  };
  leave_out_same(setting.pstate.cpus, before.pstate.cpus);
  leave_out_same(setting.pstate.put_back, before.pstate.put_back);
  return setting;
}

Observed overlaid(Observed observed, const Setting& setting) {
  for (const auto& [clos, caches] : setting.rdt.ways) {
    for (const auto& [cache, ways] : caches) observed.rdt.classes[clos].ways[cache] = ways;
  }
  for (const auto& [cpu, home] : setting.rdt.cpus) {
    for (auto& [clos, group] : observed.rdt.classes) group.cpus.remove(cpu);
    observed.rdt.classes[home].cpus.add(cpu);
  }
  for (const auto* frequencies : {&setting.pstate.put_back, &setting.pstate.cpus}) {
    for (const auto& [cpu, knobs] : *frequencies) observed.pstate.cpus[cpu] = knobs;
  }
  return observed;
}

std::vector<KnobChange> knob_changes(const Setting& setting, const Observed& observed) {
  std::vector<KnobChange> found;
  const auto name_of = [](ClosId clos) { return "COS" + std::to_string(clos.value); };
  for (const auto& [clos, caches] : setting.rdt.ways) {
    for (const auto& [cache, wanted] : caches) {
      const std::optional<WayMask> ways = ways_of(observed.rdt, clos, cache);
      if (ways == wanted) continue;
      found.push_back({.knob = name_of(clos) + " ways on cache " + std::to_string(cache.value),
                       .from = ways ? ways->hex() : "gone",
                       .to = wanted.hex()});
    }
  }
  for (const auto& [cpu, wanted] : setting.rdt.cpus) {
    const std::optional<ClosId> clos = class_of(observed.rdt, cpu);
    if (clos == wanted) continue;
    found.push_back({.knob = "class of CPU " + std::to_string(cpu.value),
                     .from = clos ? name_of(*clos) : "a foreign group",
                     .to = name_of(wanted)});
  }
  for (const auto& [cpu, wanted] : setting.pstate.cpus) {
    const auto knobs = observed.pstate.cpus.find(cpu);
    const bool is_there = knobs != observed.pstate.cpus.end();
    if (is_there && knobs->second == wanted) continue;
    found.push_back({.knob = "frequency of CPU " + std::to_string(cpu.value),
                     .from = is_there ? text_of(knobs->second) : "gone",
                     .to = text_of(wanted)});
  }
  return found;
}

std::vector<std::string> differences(const Setting& setting, const Observed& observed) {
  std::vector<std::string> found;
  for (const KnobChange& change : knob_changes(setting, observed)) {
    found.push_back(change.knob + ": " + change.from + ", not " + change.to);
  }
  return found;
}

}  // namespace nrd
