// What new workloads would be granted, for each cache. Pure, and always consistent with the planner: it calls
// create_on() and evaluates the grant.
#pragma once

#include <map>

#include "base/ids.h"
#include "base/result.h"

namespace nrd {
struct CacheRequest;
struct NodeState;
}  // namespace nrd

namespace nrd::rmd {

// For each cache: the percentage of `request.max` that one more workload would get there; 0 if it would be refused.
// Empty where the requested pool has no ways. BadRequest if max and min select no pool.
Result<std::map<CacheId, unsigned>> hospitality(const NodeState& state, const CacheRequest& request);

// How many more workloads with this request fit on `cache`, one after the other; at most `most`.
unsigned how_many_fit(const NodeState& state, const CacheRequest& request, CacheId cache, unsigned most);

}  // namespace nrd::rmd
