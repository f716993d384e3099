// What would be granted to newcomers, cache by cache. Pure, and never another opinion than the planner's: it asks
// create_on() and looks at what it grants.
#pragma once

#include <map>

#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"

namespace nrd::plan {

// For each cache: how much of `request.max` one more workload would get there, in percent; 0 if it would be refused.
// Empty where the pool that the request asks for has no ways. BadRequest if max and min ask for no pool.
Result<std::map<CacheId, unsigned>> hospitality(const NodeState& state, const CacheRequest& request);

// How many more workloads with this request `cache` takes, one after the other; at most `most`.
unsigned how_many_fit(const NodeState& state, const CacheRequest& request, CacheId cache, unsigned most);

}  // namespace nrd::plan
