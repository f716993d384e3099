#include "engine/transaction/conflict_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/node_state.h"

namespace nrd {
namespace {

using cpuset::Conflict;

// A search may have begun before a workload's scope was made.
bool is_of_workload(const cpuset::PoolUse& use, const Conflict& conflict) {
  if (conflict.source != Conflict::Source::Unit) return false;
  return std::ranges::any_of(use.holders, [&conflict](const auto& holder) {
    return std::ranges::any_of(holder.second.targets,
                               [&conflict](const cpuset::Target& target) { return target.name == conflict.name; });
  });
}

bool contains(const std::vector<Conflict>& conflicts, const Conflict& wanted) {
  return std::ranges::any_of(conflicts, [&wanted](const Conflict& conflict) {
    return conflict.source == wanted.source && conflict.name == wanted.name && conflict.cpus == wanted.cpus;
  });
}

}  // namespace

void refresh_conflicts(Hardware& hardware, NodeState& state) {
  const cpuset::PoolUse use = pool_use_of(state);
  std::vector<Conflict> found = hardware.conflicts(use);
  std::erase_if(found, [&use](const Conflict& conflict) { return is_of_workload(use, conflict); });
  for (const Conflict& conflict : found) {
    if (contains(state.cpu_conflicts, conflict)) continue;
    log::warning("CPU_CONFLICT", conflict.text, {{"NAME", conflict.name}, {"REMEDY", conflict.remedy}});
  }
  for (const Conflict& conflict : state.cpu_conflicts) {
    if (contains(found, conflict)) continue;
    log::notice("CPU_CONFLICT_ENDED", "other software does not use these CPUs of pools any more",
                {{"NAME", conflict.name}, {"CPUS", conflict.cpus.to_string()}});
  }
  state.cpu_conflicts = std::move(found);
}

}  // namespace nrd
