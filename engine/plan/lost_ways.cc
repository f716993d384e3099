#include "engine/plan/lost_ways.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/plan/grant_ways.h"
#include "engine/plan/spec.h"

namespace nrd::plan {
namespace {

bool exists(const rdt::Node& node, const Grant& grant) {
  const std::optional<rdt::Cat>& main = node.main().cat;
  if (!main) return true;
  return grant.clos.value < main->classes && std::ranges::all_of(grant.ways, [&node](const auto& granted) {
           const std::optional<rdt::Cat>& cat = node.cat_of(granted.first);
           return !cat || WayMask::all(cat->ways).contains(granted.second);
         });
}

}  // namespace

Workloads without_lost_ways(const NodeState& state) {
  Workloads kept = state.workloads;
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.has_class() || exists(state.facts.rdt, workload.grant)) continue;
    Workload lost = workload;
    lost.grant.pool = Pool::None;
    lost.grant.clos = {};
    lost.grant.ways.clear();
    lost.grant.bandwidth.clear();
    kept.put(std::move(lost));
  }
  return kept;
}

std::vector<WorkloadId> lacking_ways(const NodeState& state) {
  std::vector<WorkloadId> found;
  for (const auto& [id, workload] : state.workloads) {
    if (lacks_ways(workload)) found.push_back(id);
  }
  return found;
}

Result<Workloads> grant_lost_ways(const NodeState& state, WorkloadId id, Time now) {
  Workload workload = state.workloads.at(id);
  TRY(check(state, workload, id));
  workload.updated = now;
  return grant_ways(state, state.workloads, std::move(workload), {});
}

}  // namespace nrd::plan
