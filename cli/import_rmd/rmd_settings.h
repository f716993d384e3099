// Converts the keys of rmd.toml to nrd.toml, or reports why not. Certificates, roles and the access list are in
// rmd_access.h.
#pragma once

#include <optional>

#include "cli/import_rmd/pool_fit.h"
#include "cli/import_rmd/rmd_import.h"

namespace nrd::cli {

void move_server(RmdImport& moving);
void move_log(RmdImport& moving);
// Drops pool sizes that do not fit the cache; nullopt: the cache is unknown.
void move_pools(RmdImport& moving, const std::optional<CacheWays>& cache);
// Reports keys without a counterpart. Call last: keys not looked up by then count as unknown.
void leave_the_rest(RmdImport& moving);

}  // namespace nrd::cli
