#include "engine/plan/lost_ways.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/model/node_state.h"
#include "engine/plan/bandwidth.h"
#include "engine/plan/grant_ways.h"
#include "engine/plan/spec.h"

namespace nrd::plan {
namespace {

bool is_mask(const std::optional<rdt::Cat>& cat, WayMask ways) {
  return !cat || (WayMask::all(cat->ways).contains(ways) && ways.count() >= cat->min_ways);
}

// Other firmware numbers caches differently, or other CPUs share them. A cache of none of its CPUs may have come online
// since the grant, unless another one is absent.
bool covers_caches(const rdt::Node& node, const Workload& workload) {
  const auto& ways = workload.grant.ways;
  const bool lacks_cache = std::ranges::any_of(
      ways, [&node](const auto& granted) { return node.cat_of(granted.first) && !node.has(granted.first); });
  return std::ranges::all_of(caches_of(node, workload), [&](CacheId cache) {
    if (ways.contains(cache) || !node.cat_of(cache)) return true;
    return !lacks_cache && !node.cpus_of(cache).intersects(cpus_of(workload));
  });
}

bool exists(const rdt::Node& node, const Workload& workload) {
  const std::optional<rdt::Cat>& main = node.main().cat;
  if (!main) return true;
  const Grant& grant = workload.grant;
  return grant.clos.value < main->classes && covers_caches(node, workload) &&
         std::ranges::all_of(
             grant.ways, [&node](const auto& granted) { return is_mask(node.cat_of(granted.first), granted.second); });
}

// The kernel rounds other percentages up, and other units are not set at all.
bool has_settable_limits(const NodeState& state, const Workload& workload) {
  const std::optional<rdt::MbaInfo>& mba = state.facts.rdt.capabilities.mba_info;
  return !mba || std::ranges::all_of(workload.grant.bandwidth, [&mba](const auto& granted) {
    const rdt::Bandwidth& limit = granted.second;
    if (limit.unit != rdt::MbaUnit::Percent || limit.unit != mba->unit) return true;
    return limit_for(*mba, {.unit = MbaRequest::Unit::Percentage, .value = limit.value}) == limit;
  });
}

Workload with_present_limits(const NodeState& state, Workload workload) {
  workload.grant.bandwidth = plan_bandwidth(state, workload.spec, workload.grant.ways);
  return workload;
}

// Its ways are for those of its CPUs that are online.
Result<void> check_online(const NodeState& state, Workload workload) {
  workload.spec.cpus &= state.facts.rdt.online;
  return check(state, workload, workload.id);
}

}  // namespace

Workloads without_lost_ways(const NodeState& state) {
  Workloads kept = state.workloads;
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.has_class()) continue;
    if (exists(state.facts.rdt, workload)) {
      if (!has_settable_limits(state, workload)) kept.put(with_present_limits(state, workload));
      continue;
    }
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
  TRY(check_online(state, workload));
  workload.updated = now;
  return grant_ways(state, state.workloads, std::move(workload), {});
}

}  // namespace nrd::plan
