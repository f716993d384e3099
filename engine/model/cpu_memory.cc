#include "engine/model/cpu_memory.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/find_in.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/node_state.h"
#include "engine/model/setting_changes.h"

namespace nrd {
namespace {

using cpuset::Memory;
using cpuset::MemoryNodes;
using cpuset::Target;

// Null: it has none, or has not been observed.
const Memory* observed_memory(const NodeState& state, const Target& target) {
  return find_in(state.observed.cpuset.memory, target);
}

bool is_moving(const NodeState& state, const Target& target) {
  return std::ranges::any_of(state.memory_moves, [&target](const auto& entry) {
    return entry.second.is_open() && entry.second.target == target;
  });
}

bool is_bound(const NodeState& state, const Target& target) {
  return std::ranges::any_of(state.workloads, [&target](const auto& entry) {
    return memory_of(entry.second) && targets_of(entry.second).contains(target);
  });
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
  for (const auto& [operation, move] : state.memory_moves) {
    if (move.is_open()) targets.insert(move.target);
  }
  return targets;
}

void add_memory(cpuset::Setting& wanted, const NodeState& state) {
  const std::map<Target, MemoryNodes> bound = bound_memory(state);
  for (const auto& [target, nodes] : bound) {
    const Memory* memory = observed_memory(state, target);
    const bool is_elsewhere = memory && memory->is_used && memory->nodes != nodes;
    if (!is_elsewhere) wanted.memory[target] = nodes;
  }
  for (const auto& [target, own] : state.baselines.memory) {
    const Memory* memory = observed_memory(state, target);
    const bool is_left = is_gone(state, target) || is_moving(state, target) || (memory && memory->is_used);
    if (!bound.contains(target) && !is_left) wanted.restored_memory[target] = own;
  }
}

bool awaits_release(const NodeState& state, const Target& target) {
  const Memory* memory = observed_memory(state, target);
  return state.baselines.memory.contains(target) && memory && memory->is_used && !is_moving(state, target) &&
         !is_gone(state, target) && !is_bound(state, target);
}

std::optional<cpuset::MemoryChange> memory_move_of(const NodeState& state, const Workload& workload) {
  const std::optional<MemoryNodes> nodes = memory_of(workload);
  if (!nodes || !workload.spec.cpu->migrate) return std::nullopt;
  for (const Target& target : targets_of(workload)) {
    const Memory* memory = observed_memory(state, target);
    if (memory && memory->is_used && memory->nodes != *nodes)
      return cpuset::MemoryChange{.target = target, .nodes = *nodes};
  }
  return std::nullopt;
}

std::optional<uint64_t> open_operation_of(const NodeState& state, const Workload& workload) {
  const auto found = std::ranges::find_if(state.memory_moves, [&workload](const auto& entry) {
    return entry.second.is_open() && entry.second.workload == workload.id;
  });
  return found == state.memory_moves.end() ? std::nullopt : std::optional(found->first);
}

namespace {

auto moving_in(const NodeState& state) {
  return std::ranges::find_if(state.memory_moves,
                              [](const auto& entry) { return entry.second.state == MemoryMove::State::Moving; });
}

}  // namespace

bool is_memory_moving(const NodeState& state) { return moving_in(state) != state.memory_moves.end(); }

Result<void> check_no_memory_moves(const NodeState& state, const Setting& setting) {
  const auto running = moving_in(state);
  if (running == state.memory_moves.end()) return {};
  Setting cpusets;
  cpusets.cpuset = setting.cpuset;
  const auto is_task = [](const auto& entry) { return entry.first.kind == Target::Kind::Task; };
  std::erase_if(cpusets.cpuset.limited, is_task);
  std::erase_if(cpusets.cpuset.restored, is_task);
  cpusets.cpuset.latency = {};
  cpusets.cpuset.noise = cpusets.cpuset.restored_noise = {};
  cpusets.cpuset.shares = {};
  if (differences(cpusets, state.observed).empty()) return {};
  return fail(
      ErrorCode::Busy,
      fmt::format("operation {} moves the memory of {}, and the kernel changes no other cpuset meanwhile; try again",
                  running->first, running->second.target.name));
}

std::string memory_problem(const NodeState& state) {
  for (const auto& [target, nodes] : bound_memory(state)) {
    const Memory* memory = observed_memory(state, target);
    if (!memory || !memory->is_used || memory->nodes == nodes || is_moving(state, target)) continue;
    return fmt::format(
        "{} has memory of nodes {}, not only of {}; stop its processes, or change its workload with \"memory\": "
        "\"near\" and \"migrate\": true",
        target.name, memory->nodes.to_string(), nodes.to_string());
  }
  return {};
}

bool has_its_memory(const NodeState& state, const Workload& workload) {
  const std::optional<MemoryNodes> nodes = memory_of(workload);
  if (!nodes) return true;
  return std::ranges::all_of(targets_of(workload), [&](const Target& target) {
    const Memory* memory = observed_memory(state, target);
    return is_gone(state, target) || (memory && memory->nodes == *nodes);
  });
}

}  // namespace nrd
