#include "engine/transaction/proposal.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "base/find_in.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/node_state.h"

namespace nrd {

Proposal proposal_of(const NodeState& state, Workloads workloads) {
  Setting setting = setting_of(with_workloads(state, workloads));
  return {std::move(workloads), std::move(setting), frequency_setting_of(state)};
}

// A best-effort workload that shrinks for a new one counts as changed, as a patched one does.
Proposal propose(const NodeState& state, Workloads planned) {
  for (const Workload* changed : planned.changed_since(state.workloads)) {
    const Workload* old = find_in(state.workloads, changed->id);
    if (!old) continue;
    Workload next = *changed;
    next.revision = old->revision + 1;
    planned.put(std::move(next));
  }
  return proposal_of(state, std::move(planned));
}

Setting without_present_cpusets(Setting setting, const NodeState& state) {
  setting = without_applied(std::move(setting), state.observed);
  setting = without_same_limits(std::move(setting), cpu_setting_of(state));
  return without_confinement(std::move(setting));
}

Result<void> check_no_memory_moves(const NodeState& state, const Proposal& proposal) {
  if (!is_memory_moving(state)) return {};
  return check_no_memory_moves(state, without_present_cpusets(proposal.setting, state));
}

std::vector<KnobChange> changes_by(const NodeState& state, Proposal proposal,
                                   const std::optional<cpuset::MemoryChange>& move) {
  Setting setting = std::move(proposal.setting);
  setting.pstate = changes(std::move(setting.pstate), proposal.present);
  // Settings without a workload return to their baselines.
  for (const auto& [cpu, before] : setting.pstate.put_back)
    setting.pstate.cpus.emplace(cpu, shown(before, state.facts.pstate.cpus.at(cpu), state.observed.pstate.turbo));
  std::vector<KnobChange> found = knob_changes(setting, state.observed);
  if (!move) return found;
  const cpuset::Memory& memory = state.observed.cpuset.memory.at(move->target);
  found.push_back({.knob = "memory of " + move->target.name,
                   .from = fmt::format("{} MiB on nodes {}", memory.bytes >> 20U, memory.nodes.to_string()),
                   .to = fmt::format("on nodes {}, moved by an operation", move->nodes.to_string())});
  return found;
}

}  // namespace nrd
