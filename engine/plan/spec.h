// What can be said against a spec before any way is looked for.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"

namespace nrd::plan {

// Stale unless the workload, if it is there, has one of these revisions; nullopt: whichever it has.
Result<void> check_revision(const NodeState& state, WorkloadId id, const std::optional<std::vector<uint64_t>>& wanted);

// The pool that max and min ask for, or BadRequest (max > 0 with min = 0, min > max).
Result<Pool> pool_of(const CacheRequest& request);

// All checks that need no free way: capability, CPUs (exist, online, nobody else's), uuid, sizes against pool and
// min_cbm_bits. `self` is the workload being patched, which does not conflict with itself.
Result<void> check(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self);

// The part of check() that is about ways of `cache` alone: capability, and sizes against pool and min_cbm_bits.
// `touched` is where they are asked for.
Result<void> check_ways(const NodeState& state, const CacheRequest& cache, CacheId touched);

// The ways that `pool` has on each cache.
WayMask ways_of(const PoolPartition& layout, Pool pool);

// The caches that the CPUs touch, and those on which the tasks might run when they were named; all of them if that says
// nothing. Of each level that ways are asked for of: cache, l2.
std::set<CacheId> caches_of(const rdt::Node& node, const Spec& spec);

}  // namespace nrd::plan
