// The keys of rmd.toml, one by one: what each becomes in nrd.toml, or why nothing. Certificates, roles and the access
// list are in rmd_access.h.
#pragma once

#include <optional>

#include "cli/move/moving.h"
#include "cli/move/node_cache.h"

namespace nrd::cli {

void move_server(Moving& moving);
void move_log(Moving& moving);
// How many may share.
void move_shared_limit(Moving& moving);
// Pools that the cache cannot have are left out whole; nullopt: it is not known what it can have.
void move_pools(Moving& moving, const std::optional<CacheWays>& cache);
// All that has no counterpart. The last of all: what was not asked for until now is unknown.
void leave_the_rest(Moving& moving);

}  // namespace nrd::cli
