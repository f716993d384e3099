#include "engine/model/cpu_noise.h"

#include <algorithm>

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

}  // namespace

CpuSet cpus_with_latency(const NodeState& state) {
  CpuSet cpus;
  for (const CpuPool& pool : state.config->cpu_pools) {
    if (pool.latency_us && can_limit(state)) cpus |= pool.cpus;
  }
  for (const auto& [cpu, before] : state.baselines.latency) cpus.add(cpu);
  return cpus;
}

void add_latency(cpuset::Setting& wanted, const NodeState& state) {
  for (const auto& [id, workload] : state.workloads) wanted.latency.merge(limits_of(state, workload));
  for (const auto& [cpu, before] : state.baselines.latency) {
    if (!wanted.latency.contains(cpu)) wanted.restored_latency[cpu] = before;
  }
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
    const auto found = state.observed.cpuset.latency.find(wanted.first);
    return found != state.observed.cpuset.latency.end() && found->second == wanted.second;
  });
}

std::vector<std::string> cpu_warnings(const NodeState& state) {
  std::vector<std::string> warnings;
  for (const CpuPool& pool : state.config->cpu_pools) {
    if (!pool.latency_us || can_limit(state)) continue;
    warnings.push_back("latency_us of CPU pool " + pool.name +
                       " has no effect: " + state.facts.cpuset.no_latency_limits);
  }
  return warnings;
}

}  // namespace nrd
