// The keys of rmd.toml, one by one: what each becomes in nrd.toml, or why nothing. Certificates, roles and the access
// list are in rmd_access.h.
#pragma once

#include <optional>

#include "cli/import_rmd/node_cache.h"
#include "cli/import_rmd/rmd_import.h"

namespace nrd::cli {

void move_server(RmdImport& moving);
void move_log(RmdImport& moving);
// How many may share.
void move_shared_limit(RmdImport& moving);
// Pools that the cache cannot have are left out whole; nullopt: it is not known what it can have.
void move_pools(RmdImport& moving, const std::optional<CacheWays>& cache);
// All that has no counterpart. The last of all: what was not asked for until now is unknown.
void leave_the_rest(RmdImport& moving);

}  // namespace nrd::cli
