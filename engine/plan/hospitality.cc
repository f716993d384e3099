#include "engine/plan/hospitality.h"

#include <algorithm>
#include <utility>

#include "engine/plan/grant.h"
#include "engine/plan/spec.h"

namespace nrd::plan {
namespace {

constexpr unsigned kAll = 100;

// The workloads that affect the capacity of `cache`: those with a class, and one of those in the shared class, which
// stands for its ways and its class.
Workloads neighbours(const NodeState& state, CacheId cache) {
  Workloads kept;
  const Workload* shared = nullptr;
  for (const auto& [id, workload] : state.workloads) {
    const bool has_ways = workload.grant.ways.contains(cache);
    if (workload.grant.pool != Pool::Shared) {
      if (workload.grant.has_class()) kept.emplace(id, workload);
    } else if (shared == nullptr || (has_ways && !shared->grant.ways.contains(cache))) {
      shared = &workload;
    }
  }
  if (shared != nullptr) kept.emplace(shared->id, *shared);
  return kept;
}

WorkloadId next_id(const Workloads& workloads) {
  return workloads.empty() ? WorkloadId{1} : WorkloadId{workloads.rbegin()->first.value + 1};
}

unsigned score(const NodeState& state, const CacheRequest& request, CacheId cache) {
  const Workloads before = neighbours(state, cache);
  const WorkloadId id = next_id(before);
  const Result<Workloads> granted = create_on(state, before, id, request, cache);
  if (!granted) return 0;
  if (request.max == 0) return kAll;  // the whole shared class is available
  return kAll * granted->at(id).grant.ways.at(cache).count() / request.max;
}

}  // namespace

Result<std::map<CacheId, unsigned>> hospitality(const NodeState& state, const CacheRequest& request) {
  const Pool pool = TRY(pool_of(request));
  std::map<CacheId, unsigned> scores;
  if (!state.layout || ways_of(*state.layout, pool).empty()) return scores;
  for (const auto& [cache, cpus] : state.facts.rdt.caches) scores[cache] = score(state, request, cache);
  return scores;
}

unsigned how_many_fit(const NodeState& state, const CacheRequest& request, CacheId cache, unsigned most) {
  Workloads workloads = neighbours(state, cache);
  for (unsigned count = 0; count < most; ++count) {
    Result<Workloads> granted = create_on(state, workloads, next_id(workloads), request, cache);
    if (!granted) return count;
    // A workload in the shared class uses only one of its places.
    if (request.max == 0) return static_cast<unsigned>(std::min<size_t>(most, shared_places(state)));
    workloads = *std::move(granted);
  }
  return most;
}

}  // namespace nrd::plan
