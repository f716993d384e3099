// Checks a spec before any way is allocated.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/owner.h"
#include "base/result.h"
#include "base/way_mask.h"
#include "engine/model/fwd.h"
#include "hw/rdt/types.h"

namespace nrd {
enum class Pool;
}

namespace nrd::plan {

// Stale unless the workload, if it exists, has one of these revisions; nullopt: any revision.
Result<void> check_revision(const NodeState& state, WorkloadId id, const std::optional<std::vector<uint64_t>>& wanted);

// NotFound if the workload exists and has another owner; nullopt: any owner.
Result<void> check_owner(const NodeState& state, WorkloadId id, const std::optional<Owner>& only);

// The pool that max and min select, or BadRequest (max > 0 with min = 0, min > max).
Result<Pool> pool_of(const CacheRequest& request);

// The uuid and the name must be unique, and the labels few.
Result<void> check_names(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self);

// All checks that need no free way: capability, CPUs (exist, online, not taken), id, uuid, name, sizes against pool and
// min_cbm_bits. `self` is the workload being patched, which does not conflict with itself. `is_of_run`: by a client
// with the role `run`.
Result<void> check(const NodeState& state, const Workload& workload, std::optional<WorkloadId> self,
                   bool is_of_run = false);

// The part of check() about ways of `cache` alone: capability, and sizes against pool and min_cbm_bits. `touched` is a
// cache where they are requested.
Result<void> check_ways(const NodeState& state, const CacheRequest& cache, CacheId touched);

// The ways of `pool` on each cache.
WayMask ways_of(const PoolPartition& layout, Pool pool);

// The caches of the CPUs, and those where the tasks could run when they were named; all caches if that is unknown. Of
// each level requested: cache, l2.
std::set<CacheId> caches_of(const rdt::Node& node, const Workload& workload);

}  // namespace nrd::plan
