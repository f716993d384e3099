#include "engine/transaction/dry_run.h"

#include <utility>

#include "engine/model/setting.h"

namespace nrd {

std::vector<KnobChange> changes_by(const NodeState& state, Setting setting,
                                   const std::optional<cpuset::MemoryChange>& move) {
  setting = changes(std::move(setting), frequency_setting_of(state));
  // Settings without a workload return to their baselines.
  for (const auto& [cpu, before] : setting.pstate.put_back) setting.pstate.cpus.emplace(cpu, before);
  std::vector<KnobChange> found = knob_changes(setting, state.observed);
  if (!move) return found;
  const cpuset::Memory& memory = state.observed.cpuset.memory.at(move->target);
  found.push_back({.knob = "memory of " + move->target.name,
                   .from = std::to_string(memory.bytes >> 20U) + " MiB on nodes " + memory.nodes.to_string(),
                   .to = "on nodes " + move->nodes.to_string() + ", moved by an operation"});
  return found;
}

}  // namespace nrd
