#include "engine/transaction/proposal.h"

#include <utility>
#include <vector>

namespace nrd {

// A best-effort workload that shrinks for a new one counts as changed, as a patched one does.
Proposal propose(const NodeState& state, Workloads planned) {
  for (const Workload* changed : planned.changed_since(state.workloads)) {
    const auto old = state.workloads.find(changed->id);
    if (old == state.workloads.end()) continue;
    Workload next = *changed;
    next.revision = old->second.revision + 1;
    planned.put(std::move(next));
  }
  Setting setting = setting_of(with_workloads(state, planned));
  return {std::move(planned), std::move(setting)};
}

}  // namespace nrd
