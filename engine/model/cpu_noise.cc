#include "engine/model/cpu_noise.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/find_in.h"
#include "engine/model/cpu_pools.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"

namespace nrd {
namespace {

using cpuset::LatencyLimit;

LatencyLimit limit_of(uint32_t microseconds) { return microseconds == 0 ? "n/a" : std::to_string(microseconds); }

bool can_limit(const NodeState& state) { return state.facts.cpuset.no_latency_limits.empty(); }

// Of its online CPUs, also if it asked for them by number.
std::map<CpuId, LatencyLimit> limits_of(const NodeState& state, const Workload& workload) {
  std::map<CpuId, LatencyLimit> limits;
  if (!can_limit(state)) return limits;
  for (const CpuPool& pool : state.config->cpu_pools) {
    if (!pool.latency_us) continue;
    const CpuSet granted = cpus_of(workload) & pool.cpus & state.facts.rdt.online;
    for (const CpuId cpu : granted.members()) limits[cpu] = limit_of(*pool.latency_us);
  }
  return limits;
}

CpuSet low_noise_cpus(const NodeState& state) {
  CpuSet cpus;
  for (const CpuPool& pool : state.config->cpu_pools) {
    if (pool.low_noise) cpus |= pool.cpus;
  }
  return cpus;
}

// The claim on `source` if it still runs where nrd has put it.
const NoiseClaim* claim_on(const NodeState& state, const cpuset::NoiseSource& source, const CpuSet& cpus) {
  const NoiseClaim* claim = find_in(state.baselines.noise, source);
  return claim && std::ranges::find(claim->written, cpus) != claim->written.end() ? claim : nullptr;
}

// The kernel refuses a set without an online CPU.
CpuSet without(const CpuSet& cpus, const CpuSet& low_noise, const CpuSet& online) {
  const CpuSet left = cpus - low_noise;
  return left.intersects(online) ? left : online - low_noise;
}

// Offline CPUs, and a core that is divided between pools: that is known only once its CPUs have been online.
std::vector<std::string> pool_warnings(const NodeState& state) {
  std::vector<std::string> warnings;
  for (const CpuPool& pool : state.config->cpu_pools) {
    const CpuSet offline = pool.cpus - state.facts.rdt.online;
    if (!offline.empty())
      warnings.push_back(
          fmt::format("CPU pool {} cannot use CPU {}, which is offline", pool.name, offline.to_string()));
  }
  const PoolSite site{
      .possible = state.facts.rdt.possible, .isolated = state.facts.rdt.isolated, .zones = state.facts.cpuset.zones};
  const Result<void> checked = check_cpu_pools(state.config->cpu_pools, state.config->groups, site);
  if (!checked) warnings.push_back(checked.error().message);
  return warnings;
}

}  // namespace

CpuSet cpus_with_latency(const NodeState& state) {
  CpuSet cpus;
  for (const CpuPool& pool : state.config->cpu_pools) {
    if (pool.latency_us && can_limit(state)) cpus |= pool.cpus;
  }
  for (const auto& [cpu, before] : state.baselines.latency) cpus.add(cpu);
  return cpus;
}

std::map<CpuId, LatencyLimit> latency_in_use(const NodeState& state) {
  std::map<CpuId, LatencyLimit> limits;
  for (const auto& [id, workload] : state.workloads) limits.merge(limits_of(state, workload));
  return limits;
}

CpuSet unreadable_latency(const NodeState& state, const Setting& setting) {
  CpuSet cpus;
  for (const auto& [cpu, limit] : setting.cpuset.latency) {
    if (!state.baselines.latency.contains(cpu) && !state.observed.cpuset.latency.contains(cpu)) cpus.add(cpu);
  }
  return cpus;
}

bool has_its_latency(const NodeState& state, const Workload& workload) {
  return std::ranges::all_of(limits_of(state, workload), [&state](const auto& wanted) {
    const LatencyLimit* limit = find_in(state.observed.cpuset.latency, wanted.first);
    return limit && *limit == wanted.second;
  });
}

bool cares_for_noise(const NodeState& state) {
  return !state.baselines.noise.empty() || !low_noise_cpus(state).empty();
}

void add_noise(cpuset::Setting& wanted, const NodeState& state) {
  if (state.observed.cpuset.noise.empty()) return;
  const CpuSet low_noise = low_noise_cpus(state);
  for (const auto& [source, cpus] : state.observed.cpuset.noise) {
    const NoiseClaim* claim = claim_on(state, source, cpus);
    const CpuSet& before = claim ? claim->before : cpus;
    const CpuSet goal = before.intersects(low_noise) ? without(before, low_noise, state.facts.rdt.online) : before;
    if (goal.empty()) continue;  // no other CPU is online
    if (goal != before) {
      wanted.noise[source] = goal;
    } else if (claim) {
      wanted.restored_noise[source] = before;
    }
  }
}

std::map<cpuset::NoiseSource, NoiseClaim> unclaimed_noise(const NodeState& state, const Setting& setting) {
  std::map<cpuset::NoiseSource, NoiseClaim> added;
  for (const auto& [source, goal] : setting.cpuset.noise) {
    const CpuSet* cpus = find_in(state.observed.cpuset.noise, source);
    if (!cpus) continue;
    const NoiseClaim* claim = claim_on(state, source, *cpus);
    NoiseClaim next = claim ? *claim : NoiseClaim{.before = *cpus, .written = {}};
    if (std::ranges::find(next.written, goal) != next.written.end()) continue;
    next.written.push_back(goal);
    const NoiseClaim* known = find_in(state.baselines.noise, source);
    if (!known || *known != next) added.emplace(source, std::move(next));
  }
  return added;
}

std::vector<std::string> cpu_warnings(const NodeState& state) {
  std::vector<std::string> warnings = pool_warnings(state);
  for (const CpuPool& pool : state.config->cpu_pools) {
    if (!pool.latency_us || can_limit(state)) continue;
    warnings.push_back(
        fmt::format("latency_us of CPU pool {} has no effect: {}", pool.name, state.facts.cpuset.no_latency_limits));
  }
  const cpuset::Node& node = state.facts.cpuset;
  const bool could_be_scopes = node.no_slices.empty() && !state.config->cpu_pools.empty();
  if (could_be_scopes && !node.no_scopes.empty()) {
    warnings.push_back(
        fmt::format("commands and tasks keep to CPUs of pools by their affinity only, and units get none: {}; set "
                    "confine = \"slices\" in [cpu]",
                    node.no_scopes));
  }
  return warnings;
}

namespace {

struct Uses {
  std::map<CpuId, const Workload*> owners;
  CpuSet kept_idle;
};

Uses uses_of(const NodeState& state) {
  Uses uses;
  for (const auto& [id, workload] : state.workloads) {
    for (const CpuId cpu : cpus_of(workload).members()) uses.owners.emplace(cpu, &workload);
    if (workload.grant.cpu) uses.kept_idle |= workload.grant.cpu->idle_siblings;
  }
  return uses;
}

const Workload* owner_in(const Uses& uses, CpuId cpu) {
  const auto* owner = find_in(uses.owners, cpu);
  return owner ? *owner : nullptr;
}

// Empty: not disturbed. A pool of whole cores, or of one thread of each, gives no core to two workloads.
std::string use_of_sibling(const Uses& uses, const CpuPool& pool, CpuId cpu, CpuId sibling) {
  const Workload* owner = owner_in(uses, sibling);
  if (owner && owner != owner_in(uses, cpu)) return "is used by workload " + id_text(*owner);
  if (owner || uses.kept_idle.contains(sibling)) return {};
  if (!pool.cpus.contains(sibling)) return "is not in the pool, and may run other tasks";
  const bool is_whole = pool.kind == CpuPool::Kind::Exclusive && pool.threads != CpuPool::Threads::Any;
  return is_whole ? std::string() : "may be used at the same time";
}

}  // namespace

cpuset::CheckQuery check_query_of(const NodeState& state, const CpuPool& pool) {
  const CpuSet cpus = pool.cpus & state.facts.rdt.online;
  return {.cpus = cpus,
          .low_noise = pool.low_noise,
          .latency_us = pool.latency_us,
          .use = {.pooled = cpus,
                  .exclusive = cpus,
                  .unbalanced = state.facts.rdt.isolated | state.facts.cpuset.nohz_full,
                  .holders = {}}};
}

std::vector<cpuset::Disturbance> busy_siblings(const NodeState& state, const CpuPool& pool) {
  const Uses uses = uses_of(state);
  std::map<std::string, CpuSet> found;
  for (const cpuset::Zone& zone : state.facts.cpuset.zones) {
    if (zone.level != cpuset::Level::Core) continue;
    const std::vector<CpuId> threads = (zone.cpus & state.facts.rdt.online).members();
    for (const CpuId cpu : threads) {
      if (!pool.cpus.contains(cpu) || uses.kept_idle.contains(cpu)) continue;
      for (const CpuId sibling : threads) {
        const std::string use = sibling == cpu ? std::string() : use_of_sibling(uses, pool, cpu, sibling);
        if (!use.empty()) found[use].add(cpu);
      }
    }
  }
  std::vector<cpuset::Disturbance> disturbances;
  for (auto& [use, cpus] : found) {
    disturbances.push_back({.source = cpuset::Disturbance::Source::Sibling,
                            .cpus = cpus,
                            .text = "another thread of the same core " + use,
                            .remedy = R"(threads = "one" or "all" in a pool that has all threads of its cores)"});
  }
  return disturbances;
}

}  // namespace nrd
