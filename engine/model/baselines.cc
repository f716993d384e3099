#include "engine/model/baselines.h"

#include <algorithm>

#include "base/find_in.h"
#include "engine/model/cpu_noise.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/setting.h"

namespace nrd {
namespace {

bool owns_class_of(const NodeState& state, CpuId cpu) {
  const Workload* owner = owner_of(state, cpu);
  return owner != nullptr && owner->grant.has_class();
}

// `before`, plus those settings of `found` that differ from `wanted`; `found_max` is the maximum to restore.
pstate::FrequencySetting with_written(pstate::FrequencySetting before, const pstate::FrequencySetting& found,
                                      KHz found_max, const pstate::FrequencySetting& wanted) {
  // Lowering a maximum also lowers the minimum (cpufreq_verify_within_limits()), so the minimum was not written.
  const bool is_taken_along = found.max < wanted.min && found.min == found.max;
  const bool has_min = found.min != wanted.min && !is_taken_along;
  const bool has_max = found.max != wanted.max;
  if (has_min) before.min = found.min;
  if (has_max) before.max = found_max;
  if (has_min) before.max = std::max(before.min, before.max);
  if (has_max) before.min = std::min(before.min, before.max);
  if (found.governor != wanted.governor && !found.governor.empty()) before.governor = found.governor;
  if (found.epp != wanted.epp && !found.epp.empty()) before.epp = found.epp;
  return before;
}

// A claimed CPU of its frequency domain.
std::optional<CpuId> claimed_beside(const NodeState& state, CpuId cpu) {
  for (const CpuId other : state.facts.pstate.cpus.at(cpu).domain.members()) {
    if (state.baselines.frequencies.contains(other)) return other;
  }
  return std::nullopt;
}

void claim_frequencies(Baselines& added, const NodeState& state, const pstate::Setting& setting) {
  const Baselines& baselines = state.baselines;
  std::map<CpuId, FrequencyClaim> claimed;
  for (const auto& [cpu, wanted] : setting.cpus) {
    const pstate::FrequencySetting* found = find_in(state.observed.pstate.cpus, cpu);
    if (baselines.frequencies.contains(cpu) || !found) continue;
    // A CPU that was offline when the others of its domain were claimed shows nrd's own setting; before, it had theirs.
    const std::optional<CpuId> other = *found == wanted ? claimed_beside(state, cpu) : std::nullopt;
    const pstate::FrequencySetting before = original_setting(state, other.value_or(cpu)).value_or(*found);
    claimed[cpu] = {before, state.facts.pstate.cpus.at(cpu).driver};
    if (other && given_back(baselines, *other) != before)
      added.frequencies_of_others[cpu] = given_back(baselines, *other);
  }
  added.frequencies = std::move(claimed);
}

}  // namespace

std::map<CpuId, pstate::FrequencySetting> written_by_others(const NodeState& state, const pstate::Setting& wanted,
                                                            const CpuSet& except) {
  std::map<CpuId, pstate::FrequencySetting> written;
  for (const auto& [cpu, knobs] : wanted.cpus) {
    const pstate::Cpu* facts = find_in(state.facts.pstate.cpus, cpu);
    const pstate::FrequencySetting* found = find_in(state.observed.pstate.cpus, cpu);
    if (!state.baselines.frequencies.contains(cpu) || !facts) continue;
    if (!found || facts->domain.intersects(except)) continue;
    const pstate::FrequencySetting& before = given_back(state.baselines, cpu);
    const KHz max = without_hidden_maximum(*found, *facts, state.observed.pstate.turbo).max;
    const pstate::FrequencySetting after = with_written(before, *found, max, knobs);
    if (after != before) written.emplace(cpu, after);
  }
  return written;
}

void merge(Baselines& baselines, const Baselines& added) {
  for (const auto& [clos, caches] : added.ways) baselines.ways[clos].insert(caches.begin(), caches.end());
  if (!added.cpus.empty()) baselines.cpus.edit().insert(added.cpus.begin(), added.cpus.end());
  if (!added.frequencies.empty())
    baselines.frequencies.edit().insert(added.frequencies.begin(), added.frequencies.end());
  baselines.frequencies_of_others.insert(added.frequencies_of_others.begin(), added.frequencies_of_others.end());
  baselines.tasks.insert(added.tasks.begin(), added.tasks.end());
  baselines.groups.insert(added.groups.begin(), added.groups.end());
  baselines.cpu_sets.insert(added.cpu_sets.begin(), added.cpu_sets.end());
  baselines.cpu_shares.insert(added.cpu_shares.begin(), added.cpu_shares.end());
  baselines.memory.insert(added.memory.begin(), added.memory.end());
  baselines.latency.insert(added.latency.begin(), added.latency.end());
  for (const auto& [source, claim] : added.noise) baselines.noise[source] = claim;
  baselines.pinned.insert(added.pinned.begin(), added.pinned.end());
}

Baselines unclaimed(const NodeState& state, const Setting& setting) {
  const Baselines& baselines = state.baselines;
  const Observed& observed = state.observed;
  Baselines added;
  for (const auto& [clos, caches] : setting.rdt.ways) {
    if (clos != kRootClass) continue;
    const auto* claimed = find_in(baselines.ways, clos);
    for (const auto& [cache, wanted] : caches) {
      if (claimed && claimed->contains(cache)) continue;
      if (const auto ways = observed.rdt.ways_of(clos, cache)) added.ways[clos][cache] = *ways;
    }
  }
  std::map<CpuId, ClosId> cpus;
  for (const auto& [cpu, wanted] : setting.rdt.cpus) {
    if (baselines.cpus.contains(cpu)) continue;
    // A CPU in a foreign group, or put into a class of nrd, has no class to return to except the root class.
    const ClosId present = observed.rdt.class_of(cpu).value_or(kRootClass);
    cpus[cpu] = setting.rdt.made.contains(present) ? kRootClass : present;
  }
  added.cpus = std::move(cpus);
  for (const ClosId clos : setting.rdt.made) {
    if (!baselines.groups.contains(clos)) added.groups.insert(clos);
  }
  for (const auto& [task, clos] : setting.rdt.tasks) {
    if (clos != kRootClass && !baselines.tasks.contains({task, clos})) added.tasks.insert({task, clos});
  }
  for (const auto& [target, limit] : setting.cpuset.limited) {
    const cpuset::Masks* masks = find_in(observed.cpuset.targets, target);
    if (!masks || masks->cpus.empty() || baselines.cpu_sets.contains(target)) continue;
    added.cpu_sets[target] = *masks;
    added.cpu_sets[target].inner.clear();  // not nrd's to restore
  }
  for (const auto& [target, share] : setting.cpuset.shares) {
    const cpuset::Share* found = find_in(observed.cpuset.shares, target);
    if (found && !baselines.cpu_shares.contains(target)) added.cpu_shares[target] = *found;
  }
  for (const auto& [target, nodes] : setting.cpuset.memory) {
    const cpuset::Memory* found = find_in(observed.cpuset.memory, target);
    if (found && !baselines.memory.contains(target)) added.memory[target] = found->own;
  }
  for (const auto& [cpu, limit] : setting.cpuset.latency) {
    const cpuset::LatencyLimit* found = find_in(observed.cpuset.latency, cpu);
    if (found && !baselines.latency.contains(cpu)) added.latency[cpu] = *found;
  }
  added.noise = unclaimed_noise(state, setting);
  claim_frequencies(added, state, setting.pstate);
  return added;
}

CpuSet unreadable(const NodeState& state, const Setting& setting) {
  CpuSet cpus;
  for (const auto& [cpu, wanted] : setting.pstate.cpus) {
    if (!original_setting(state, cpu)) cpus.add(cpu);
  }
  return cpus;
}

Setting without_unclaimed(Setting setting, const Baselines& baselines) {
  std::erase_if(setting.pstate.cpus, [&](const auto& entry) { return !baselines.frequencies.contains(entry.first); });
  std::erase_if(setting.rdt.tasks, [&](const auto& entry) {
    return entry.second != kRootClass && !baselines.tasks.contains({entry.first, entry.second});
  });
  std::erase_if(setting.cpuset.limited, [&](const auto& entry) { return !baselines.cpu_sets.contains(entry.first); });
  std::erase_if(setting.cpuset.shares, [&](const auto& entry) { return !baselines.cpu_shares.contains(entry.first); });
  std::erase_if(setting.cpuset.memory, [&](const auto& entry) { return !baselines.memory.contains(entry.first); });
  std::erase_if(setting.cpuset.latency, [&](const auto& entry) { return !baselines.latency.contains(entry.first); });
  std::erase_if(setting.cpuset.noise, [&](const auto& entry) {
    const NoiseClaim* claim = find_in(baselines.noise, entry.first);
    return !claim || std::ranges::find(claim->written, entry.second) == claim->written.end();
  });
  return setting;
}

Baselines owned_baselines(const NodeState& state, const rdt::Setting& before) {
  const Setting unused = setting_of(with_workloads(state, {}));
  const auto used = ways_in_use(state);
  const auto is_needed = [&used](ClosId clos, CacheId cache) {
    const auto* caches = find_in(used, clos);
    return caches && caches->contains(cache);
  };
  // By nrd, for an infrastructure whose CPUs have gone offline since.
  const auto is_as_before = [&](ClosId clos, CacheId cache, WayMask ways) {
    const auto* caches = find_in(before.ways, clos);
    const WayMask* set = caches ? find_in(*caches, cache) : nullptr;
    return set && *set == ways;
  };
  Baselines kept = state.baselines;
  for (const auto& [clos, caches] : unused.rdt.ways) {
    for (const auto& [cache, baseline] : caches) {
      if (is_needed(clos, cache)) continue;
      const std::optional<WayMask> ways = state.observed.rdt.ways_of(clos, cache);
      const bool is_split = state.observed.rdt.split_of(clos, cache).has_value();
      if (ways && ((*ways != baseline && !is_as_before(clos, cache, *ways)) || is_split)) kept.ways[clos].erase(cache);
    }
    if (kept.ways[clos].empty()) kept.ways.erase(clos);
  }
  for (const auto& [cpu, clos] : unused.rdt.cpus) {
    if (owns_class_of(state, cpu) || (state.config->groups.os | state.config->groups.infra).contains(cpu)) continue;
    const rdt::Class* group = find_in(state.observed.rdt.classes, clos);
    if (!group || !group->cpus.contains(cpu)) kept.cpus.edit().erase(cpu);
  }
  return kept;
}

std::vector<TaskClaim> finished_task_claims(const NodeState& state) {
  const rdt::Setting wanted = task_classes_of(state);
  const auto is_full = [&state](ClosId clos) {
    const rdt::Class* group = find_in(state.observed.rdt.classes, clos);
    return group && group->has_tasks();
  };
  std::vector<TaskClaim> finished;
  for (const TaskClaim& claim : state.baselines.tasks) {
    const ClosId* to = find_in(wanted.tasks, claim.task);
    if (to && *to == claim.clos) continue;
    const auto* places = find_in(state.observed.rdt.tasks, claim.task);
    const bool is_in_it = places && places->contains(text_of(claim.clos));
    const bool is_full_of_others = wanted.without_tasks.contains(claim.clos) && is_full(claim.clos);
    if (!is_in_it && !is_full_of_others) finished.push_back(claim);
  }
  return finished;
}

}  // namespace nrd
