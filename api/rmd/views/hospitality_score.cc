#include "api/rmd/views/hospitality_score.h"

#include <algorithm>
#include <utility>

#include "engine/model/node_state.h"
#include "engine/plan/grant.h"
#include "engine/plan/grant_ways.h"
#include "engine/plan/spec.h"

namespace nrd::rmd {
namespace {

constexpr unsigned kAll = 100;

// The workloads that affect the capacity of `cache`: those with a class, and one of those in the shared class, which
// stands for its ways and its class.
Workloads neighbours(const NodeState& state, CacheId cache) {
  const Workload* shared = nullptr;
  for (const auto& [id, workload] : state.workloads) {
    if (workload.grant.pool != Pool::Shared) continue;
    const bool has_ways = workload.grant.ways.contains(cache);
    if (shared == nullptr || (has_ways && !shared->grant.ways.contains(cache))) shared = &workload;
  }
  Workloads kept = state.workloads;
  kept.erase_if([shared](const Workload& workload) {
    return workload.grant.pool == Pool::Shared ? &workload != shared : !workload.grant.has_class();
  });
  return kept;
}

unsigned score(const NodeState& state, const CacheRequest& request, CacheId cache) {
  const Workloads before = neighbours(state, cache);
  const WorkloadId id = before.next_id();
  const Result<Workloads> granted = plan::create_on(state, before, id, request, cache);
  if (!granted) return 0;
  if (request.max == 0) return kAll;  // the whole shared class is available
  return kAll * granted->at(id).grant.ways.at(cache).count() / request.max;
}

}  // namespace

Result<std::map<CacheId, unsigned>> hospitality(const NodeState& state, const CacheRequest& request) {
  const Pool pool = TRY(plan::pool_of(request));
  std::map<CacheId, unsigned> scores;
  const PoolPartition* layout = main_layout(state);
  if (!layout || plan::ways_of(*layout, pool).empty()) return scores;
  for (const auto& [cache, cpus] : state.facts.rdt.main().caches) scores[cache] = score(state, request, cache);
  return scores;
}

unsigned how_many_fit(const NodeState& state, const CacheRequest& request, CacheId cache, unsigned most) {
  Workloads workloads = neighbours(state, cache);
  for (unsigned count = 0; count < most; ++count) {
    Result<Workloads> granted = plan::create_on(state, workloads, workloads.next_id(), request, cache);
    if (!granted) return count;
    // A workload in the shared class uses only one of its places.
    if (request.max == 0) return static_cast<unsigned>(std::min<size_t>(most, plan::shared_places(state)));
    workloads = *std::move(granted);
  }
  return most;
}

}  // namespace nrd::rmd
