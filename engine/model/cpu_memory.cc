#include "engine/model/cpu_memory.h"

#include <algorithm>

#include "engine/model/cpu_sets.h"

namespace nrd {
namespace {

using cpuset::Memory;
using cpuset::MemoryNodes;
using cpuset::Target;

// nullopt: it has none, or has not been observed.
std::optional<Memory> observed_memory(const NodeState& state, const Target& target) {
  const auto found = state.observed.cpuset.memory.find(target);
  return found == state.observed.cpuset.memory.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

MemoryNodes memory_near(const NodeState& state, const CpuSet& cpus) {
  MemoryNodes nodes;
  const CpuSet online = cpus & state.facts.rdt.online;
  for (const cpuset::Zone& zone : state.facts.cpuset.zones) {
    if (zone.level == cpuset::Level::Node && zone.cpus.intersects(online)) nodes.add(CpuId{zone.id});
  }
  return nodes & state.facts.cpuset.memory_nodes;
}

std::optional<MemoryNodes> memory_of(const Workload& workload) {
  const bool is_near = workload.spec.cpu && workload.spec.cpu->memory == CpuRequest::Memory::Near;
  if (!is_near || !workload.grant.cpu || is_enforced_by_runtime(workload)) return std::nullopt;
  return workload.grant.cpu->memory_nodes;
}

std::map<Target, MemoryNodes> bound_memory(const NodeState& state) {
  std::map<Target, MemoryNodes> bound;
  for (const auto& [id, workload] : state.workloads) {
    const std::optional<MemoryNodes> nodes = memory_of(workload);
    if (!nodes) continue;
    for (const Target& target : targets_of(workload)) {
      if (!is_gone(state, target)) bound[target] = *nodes;
    }
  }
  return bound;
}

std::set<Target> targets_with_memory(const NodeState& state) {
  std::set<Target> targets;
  for (const auto& [target, nodes] : bound_memory(state)) targets.insert(target);
  for (const auto& [target, own] : state.baselines.memory) targets.insert(target);
  return targets;
}

bool has_unobserved_memory(const NodeState& state) {
  return std::ranges::any_of(targets_with_memory(state), [&state](const Target& target) {
    return !observed_memory(state, target) && !is_gone(state, target);
  });
}

void add_memory(cpuset::Setting& wanted, const NodeState& state) {
  const std::map<Target, MemoryNodes> bound = bound_memory(state);
  for (const auto& [target, nodes] : bound) {
    const std::optional<Memory> memory = observed_memory(state, target);
    const bool is_elsewhere = memory && memory->is_used && memory->nodes != nodes;
    if (!is_elsewhere) wanted.memory[target] = nodes;
  }
  for (const auto& [target, own] : state.baselines.memory) {
    if (!bound.contains(target) && !is_gone(state, target)) wanted.restored_memory[target] = own;
  }
}

bool has_its_memory(const NodeState& state, const Workload& workload) {
  const std::optional<MemoryNodes> nodes = memory_of(workload);
  if (!nodes) return true;
  return std::ranges::all_of(targets_of(workload), [&](const Target& target) {
    const std::optional<Memory> memory = observed_memory(state, target);
    return is_gone(state, target) || (memory && memory->nodes == *nodes);
  });
}

}  // namespace nrd
