#include "engine/plan/grant_ways.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/find_in.h"
#include "base/joined.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/reserved_cpus.h"
#include "engine/plan/bandwidth.h"
#include "engine/plan/spec.h"
#include "engine/plan/ways.h"

namespace nrd::plan {
namespace {

// Ways of `cache` held by workloads (except those of `but`) or by foreign groups.
WayMask held(const NodeState& state, const Workloads& workloads, CacheId cache, const std::set<WorkloadId>& but) {
  WayMask ways = foreign_ways(state, cache);
  for (const auto& [id, workload] : workloads) {
    const WayMask* granted = find_in(workload.grant.ways, cache);
    if (granted && !but.contains(id)) ways = ways | *granted;
  }
  return ways;
}

// The ways available to a new workload in `pool` of `cache` while `held` ways are in use.
AvailableWays available_ways(const NodeState& state, CacheId cache, WayMask pool, WayMask held) {
  const rdt::Cat& cat = *state.facts.rdt.cat_of(cache);
  return {.free = pool - held,
          .unassigned = WayMask::all(cat.ways) - held - infra_ways(state, cache),
          .shareable = io_ways(state, cache)};
}

std::string on_cache(CacheId cache) { return " on " + text_of(cache); }

// "; 5 free ways belong to besteffort and shared", to explain a refusal despite free ways; empty if other pools have
// none.
std::string free_in_others(const PoolPartition& layout, Pool pool, WayMask held) {
  std::string names;
  unsigned count = 0;
  for (const Pool other : {Pool::Guarantee, Pool::BestEffort, Pool::Shared}) {
    const unsigned free = other == pool ? 0 : (ways_of(layout, other) - held).count();
    if (free == 0) continue;
    count += free;
    names += (names.empty() ? "" : " and ") + std::string(to_string(other));
  }
  if (count == 0) return {};
  return fmt::format("; {}{}{}", count, count == 1 ? " free way belongs to " : " free ways belong to ", names);
}

// "the guarantee pool has 4 of 10 ways left, the longest run has 3"
std::string left_in(const PoolPartition& layout, Pool pool, WayMask held) {
  const WayMask free = ways_of(layout, pool) - held;
  const unsigned longest = free.longest_run().count();
  return fmt::format("the {} pool has {} of {} ways left{}", to_string(pool), free.count(),
                     ways_of(layout, pool).count(),
                     longest < free.count() ? ", the longest run has " + std::to_string(longest) : "");
}

Failure not_enough(CacheId cache, const std::string& field, const std::string& message, const std::string& allowed) {
  return fail_at(ErrorCode::NotEnough, field, message, allowed, std::to_string(cache.value));
}

std::string field_of(const NodeState& state, CacheId cache) {
  return state.facts.rdt.is_main(cache) ? "/cache" : "/l2";
}

// The class of the shared workloads if there is one, else a free class.
Result<ClosId> class_for(const NodeState& state, const Workloads& workloads, Pool pool, const Spec& spec) {
  for (const auto& [id, workload] : workloads) {
    if (pool == Pool::Shared && workload.grant.pool == Pool::Shared) return workload.grant.clos;
  }
  return choose_class(state, workloads).map_error([&spec](Error error) {
    if (!spec.cache) error.field = "/l2";
    if (!spec.l2 && spec.cache && pool_of(*spec.cache) != Pool::Shared)
      error.allowed += ", or ask for the shared class with max and min 0";
    return error;
  });
}

// If other software has set different masks for code and data, nrd could not restore them.
Result<void> check_root_is_whole(const NodeState& state, const std::set<CacheId>& touched) {
  const auto* claimed = find_in(state.baselines.ways, kRootClass);
  for (const CacheId cache : touched) {
    const bool is_ours = claimed && claimed->contains(cache);
    if (is_ours || !state.observed.rdt.split_of(kRootClass, cache)) continue;
    return fail_at(
        ErrorCode::Conflict, field_of(state, cache),
        fmt::format("code and data have different ways in the root class{}, which nrd does not own", on_cache(cache)),
        "caches whose root class has the same ways for both");
  }
  return {};
}

// Workloads already in the shared class stay, even above a lowered limit.
Result<void> check_shared(const NodeState& state) {
  if (shared_places(state) > 0) return {};
  const std::string limit = std::to_string(*state.config->max_shared);
  return fail_at(ErrorCode::Conflict, "/cache", fmt::format("the shared class is full (limit: {} workloads)", limit),
                 "a guarantee or best effort, or try again when a workload has left the shared class");
}

// With cache_pools.foreign_groups = "refuse": foreign groups would fill the ways of a guarantee.
Result<void> check_alone(const NodeState& state, CacheId cache, WayMask ways) {
  if (state.config->foreign_groups == ForeignGroups::Report) return {};
  const std::set<std::string> sharing = sharing_groups(state, cache, ways, Unreadable::LeftOut);
  if (sharing.empty()) return {};
  return fail_at(
      ErrorCode::Conflict, field_of(state, cache),
      fmt::format(
          "resctrl group {} has CPUs or tasks{} and may fill ways {}, and cache_pools.foreign_groups is \"refuse\"",
          joined(sharing, ", "), on_cache(cache), ways.list()),
      "best effort, or a guarantee once the masks of these groups exclude its ways");
}

Result<void> grant_guarantee(const NodeState& state, Workloads& workloads, Workload& workload, CacheId cache,
                             const Grant& before) {
  const bool is_main = state.facts.rdt.is_main(cache);
  const unsigned count = is_main ? workload.spec.cache->max : workload.spec.l2->ways;
  const WayMask* old = find_in(before.ways, cache);
  const bool was_guarantee = !is_main || before.pool == Pool::Guarantee;
  if (was_guarantee && old && old->count() == count) {
    workload.grant.ways[cache] = *old;
    return {};
  }
  const PoolPartition& layout = *layout_of(state, cache.level);
  const WayMask taken = held(state, workloads, cache, {workload.id});
  const WayMask pool = is_main ? guarantee_ways_for(state, workload.origin) : layout.guarantee;
  const AvailableWays available = available_ways(state, cache, pool, taken);
  const std::optional<WayMask> run = place_run(available, count);
  if (!run) {
    return not_enough(
        cache, is_main ? "/cache/max" : "/l2/ways",
        fmt::format("needs {} contiguous ways{}; {}{}{}{}", count, on_cache(cache),
                    left_in(layout, Pool::Guarantee, taken),
                    is_main ? ways_reserve_text(state, workload.origin, taken) : "",
                    free_in_others(layout, Pool::Guarantee, taken), held_by_others(state, cache, layout.guarantee)),
        fmt::format("at most {}", available.free.longest_run().count()));
  }
  TRY(check_alone(state, cache, *run));
  workload.grant.ways[cache] = *run;
  return {};
}

Result<void> grant_shared(const NodeState& state, const Workloads& workloads, Workload& workload, CacheId cache) {
  std::set<WorkloadId> members{workload.id};
  for (const auto& [id, other] : workloads) {
    if (id == workload.id || other.grant.pool != Pool::Shared) continue;
    members.insert(id);
    const WayMask* granted = find_in(other.grant.ways, cache);
    if (!granted) continue;
    workload.grant.ways[cache] = *granted;  // one class has one mask
    return {};
  }
  const WayMask taken = held(state, workloads, cache, members);
  const PoolPartition& layout = *main_layout(state);
  const WayMask ways = (layout.shared - taken).longest_run();
  if (ways.count() < state.facts.rdt.main().cat->min_ways) {
    return not_enough(cache, "/cache",
                      fmt::format("foreign groups hold ways of the shared pool{}; {}{}{}", on_cache(cache),
                                  left_in(layout, Pool::Shared, taken), free_in_others(layout, Pool::Shared, taken),
                                  held_by_others(state, cache, layout.shared)),
                      "");
  }
  workload.grant.ways[cache] = ways;
  return {};
}

// The best-effort workloads on `cache` from the highest way down, new ones last.
std::vector<WorkloadId> besteffort_on(const Workloads& workloads, CacheId cache, std::optional<WorkloadId> newcomer) {
  std::vector<std::pair<unsigned, WorkloadId>> order;
  for (const auto& [id, workload] : workloads) {
    if (workload.grant.pool != Pool::BestEffort) continue;
    if (const WayMask* granted = find_in(workload.grant.ways, cache)) {
      order.emplace_back(WayMask::kMaxWays - granted->end(), id);
    } else if (id == newcomer) {
      order.emplace_back(WayMask::kMaxWays + 1, id);
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<WorkloadId> ids;
  for (const auto& [position, id] : order) ids.push_back(id);
  return ids;
}

// Lays out the best-effort pool of `cache`: its members side by side from one end of the free ways, in their present
// order. `newcomer` need not have ways there yet.
Result<void> layout_besteffort(const NodeState& state, Workloads& workloads, CacheId cache,
                               std::optional<WorkloadId> newcomer) {
  const Shrink shrink = state.config->shrink ? Shrink::Yes : Shrink::No;
  const std::vector<WorkloadId> members = besteffort_on(workloads, cache, newcomer);
  const std::set<WorkloadId> pool(members.begin(), members.end());
  const PoolPartition& layout = *main_layout(state);
  AvailableWays available = available_ways(state, cache, layout.besteffort, held(state, workloads, cache, pool));
  available.free = available.free.longest_run();
  std::vector<Demand> demands;
  for (const WorkloadId id : members) {
    const Workload& member = workloads.at(id);
    const WayMask* granted = find_in(member.grant.ways, cache);
    demands.push_back(
        {.min = member.spec.cache->min, .max = member.spec.cache->max, .now = granted ? granted->count() : 0});
  }
  const auto ways = share_ways(available.free.count(), demands, shrink);
  if (!ways) {
    unsigned others = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      const unsigned kept = shrink == Shrink::Yes ? demands[i].min : std::max(demands[i].now, demands[i].min);
      if (members[i] != newcomer) others += kept;
    }
    const unsigned in_all = available.free.count();
    const unsigned left = others < in_all ? in_all - others : 0;
    return not_enough(cache, "/cache/min",
                      fmt::format("needs at least {} ways{}; the best-effort workloads there leave {} of {} ways{}{}",
                                  newcomer ? workloads.at(*newcomer).spec.cache->min : 0, on_cache(cache), left, in_all,
                                  free_in_others(layout, Pool::BestEffort, held(state, workloads, cache, {})),
                                  held_by_others(state, cache, layout.besteffort)),
                      fmt::format("at most {}", left));
  }
  std::vector<Slot> slots;
  for (size_t i = 0; i < members.size(); ++i) {
    const WayMask* before = find_in(workloads.at(members[i]).grant.ways, cache);
    slots.push_back({.before = before ? *before : WayMask(), .count = (*ways)[i]});
  }
  const std::vector<WayMask> runs = pack_runs(available, slots);
  for (size_t i = 0; i < members.size(); ++i) {
    if (slots[i].before == runs[i]) continue;
    Workload moved = workloads.at(members[i]);
    moved.grant.ways[cache] = runs[i];
    workloads.put(std::move(moved));
  }
  return {};
}

// For one cache. Best effort keeps its ways for now: its pool is laid out after all other grants.
Result<void> grant_on(const NodeState& state, Workloads& without, Workload& workload, CacheId cache,
                      const Grant& before) {
  if (!state.facts.rdt.is_main(cache)) return grant_guarantee(state, without, workload, cache, before);
  switch (workload.grant.pool) {
    case Pool::None: break;
    case Pool::Guarantee: return grant_guarantee(state, without, workload, cache, before);
    case Pool::Shared: return grant_shared(state, without, workload, cache);
    case Pool::BestEffort: {
      const WayMask* old = find_in(before.ways, cache);
      if (old && before.pool == Pool::BestEffort) workload.grant.ways[cache] = *old;
      break;
    }
  }
  return {};
}

}  // namespace

size_t shared_places(const NodeState& state) {
  if (!state.config->max_shared) return std::numeric_limits<size_t>::max();
  const auto members = static_cast<size_t>(std::ranges::count_if(
      state.workloads, [](const auto& entry) { return entry.second.grant.pool == Pool::Shared; }));
  return *state.config->max_shared - std::min<size_t>(members, *state.config->max_shared);
}

void reclaim_free_ways(const NodeState& state, Workloads& workloads, const std::set<CacheId>& caches) {
  for (const CacheId cache : caches) {
    Workloads grown = workloads;
    if (layout_besteffort(state, grown, cache, std::nullopt)) workloads = std::move(grown);
  }
}

std::set<CacheId> besteffort_caches(const NodeState& state, const Grant& grant) {
  std::set<CacheId> caches;
  for (const auto& [cache, ways] : grant.ways) {
    if (grant.pool == Pool::BestEffort && state.facts.rdt.is_main(cache)) caches.insert(cache);
  }
  return caches;
}

Result<Workloads> grant_ways(const NodeState& state, Workloads workloads, Workload workload, const Grant& before) {
  const Pool pool = workload.spec.cache ? *pool_of(*workload.spec.cache) : Pool::Guarantee;
  if (pool == Pool::Shared && before.pool != Pool::Shared) TRY(check_shared(state));
  const std::set<CacheId> touched = caches_of(state.facts.rdt, workload);
  workload.grant.pool = pool;

  // Best effort keeps its position in the order; other pools choose among ways that are free without it.
  Workloads without = workloads;
  without.erase(workload.id);
  const bool keeps_class = before.has_class() && before.pool != Pool::Shared && pool != Pool::Shared;
  workload.grant.clos = before.clos;
  if (!keeps_class) workload.grant.clos = TRY(class_for(state, without, pool, workload.spec));

  TRY(check_root_is_whole(state, touched));
  for (const CacheId cache : touched) TRY(grant_on(state, without, workload, cache, before));
  workload.grant.bandwidth = plan_bandwidth(state, workload.spec, workload.grant.ways);
  const WorkloadId id = workload.id;
  workloads.put(std::move(workload));
  std::set<CacheId> left = besteffort_caches(state, before);
  for (const CacheId cache : touched) {
    if (pool != Pool::BestEffort || !state.facts.rdt.is_main(cache)) continue;
    TRY(layout_besteffort(state, workloads, cache, id));
    left.erase(cache);
  }
  reclaim_free_ways(state, workloads, left);
  return workloads;
}

}  // namespace nrd::plan
