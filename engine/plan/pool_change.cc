#include "engine/plan/pool_change.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "engine/model/node_state.h"
#include "engine/plan/spec.h"

namespace nrd::plan {
namespace {

constexpr size_t kMostNamed = 8;

// Of one workload, on all caches of the main level.
WayMask pooled_ways(const rdt::Node& node, const Workload& workload) {
  WayMask ways;
  for (const auto& [cache, granted] : workload.grant.ways) {
    if (node.is_main(cache)) ways = ways | granted;
  }
  return ways;
}

bool is_in_the_way(WayMask ways, Pool pool, const PoolPartition& before, const PoolPartition& after) {
  if (ways_of(after, pool).contains(ways)) return false;
  const WayMask reserved = (after.os | after.infra) - (before.os | before.infra);
  return ways_of(before, pool).contains(ways) || ways.intersects(reserved);
}

std::string text_of(WayMask ways) {
  if (ways.empty()) return "no ways";
  return (ways.count() == 1 ? "way " : "ways ") + ways.list();
}

// What the pool would have to span: the ways it would have, and those that its workloads keep.
struct Need {
  WayMask span;
  std::string workloads;  // "5 (ways 1-3), 6 (way 4) and 2 more"
};

std::optional<Need> need_of(const NodeState& state, Pool pool, const PoolPartition& before,
                            const PoolPartition& after) {
  WayMask all;
  std::string named;
  size_t count = 0;
  for (const auto& [id, workload] : state.workloads) {
    if (workload.grant.pool != pool) continue;
    const WayMask ways = pooled_ways(state.facts.rdt, workload);
    if (ways.empty()) continue;
    if (ways_of(before, pool).contains(ways)) all = all | ways;
    if (!is_in_the_way(ways, pool, before, after)) continue;
    all = all | ways;
    if (++count <= kMostNamed)
      named += fmt::format("{}{} ({})", named.empty() ? "" : ", ", id_text(workload), text_of(ways));
  }
  if (count == 0) return std::nullopt;
  if (count > kMostNamed) named += fmt::format(" and {} more", count - kMostNamed);
  const WayMask planned = ways_of(after, pool);
  const unsigned lowest = planned.empty() ? all.lowest() : std::min(all.lowest(), planned.lowest());
  return Need{.span = WayMask::run(lowest, all.end() - lowest),
              .workloads = (count == 1 ? "workload " : "workloads ") + named};
}

}  // namespace

Result<void> check_pool_change(const NodeState& state, const PoolPartition& after) {
  const PoolPartition* before = main_layout(state);
  if (!before || *before == after) return {};
  std::string problem;
  std::string allowed;
  std::string key;  // of the first pool
  for (const Pool pool : {Pool::Guarantee, Pool::BestEffort, Pool::Shared}) {
    const std::optional<Need> need = need_of(state, pool, *before, after);
    if (!need) continue;
    const std::string name = to_string(pool);
    if (key.empty()) key = "cache_pools." + name;
    problem += fmt::format("{}{} would have {}, but needs {} ({}) for {}", problem.empty() ? "" : "; ", name,
                           text_of(ways_of(after, pool)), need->span.count(), text_of(need->span), need->workloads);
    allowed += fmt::format("{}{} with {}", allowed.empty() ? "" : ", ", name, text_of(need->span));
  }
  if (problem.empty()) return {};
  return fail_at(ErrorCode::Conflict, key, "cache_pools: " + problem, allowed + "; or delete these workloads first");
}

}  // namespace nrd::plan
