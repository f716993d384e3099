// Allocates the cache ways of a workload: its class, a run of ways on each of its caches, and the layout of the
// best-effort pool. Pure.
#pragma once

#include <cstddef>
#include <set>

#include "base/ids.h"
#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd::plan {

// How many more workloads the shared class accepts.
size_t shared_places(const NodeState& state);
// `workloads` with `workload` and its ways on each of its caches; `before` is its previous grant.
Result<Workloads> grant_ways(const NodeState& state, Workloads workloads, Workload workload, const Grant& before);
// The caches where `grant` has ways of the best-effort pool.
std::set<CacheId> besteffort_caches(const NodeState& state, const Grant& grant);
// Gives freed ways to the best-effort workloads on `caches`. It is optional, so if the pool cannot be laid out again
// (foreign groups hold ways of it) all grants stay.
void reclaim_free_ways(const NodeState& state, Workloads& workloads, const std::set<CacheId>& caches);

}  // namespace nrd::plan
