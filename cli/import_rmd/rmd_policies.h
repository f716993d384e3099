// Converts RMD's policies and CPU names to TOML. Entries that nrd would refuse are left out, so that nrd starts.
#pragma once

#include "base/result.h"
#include "cli/import_rmd/rmd_directory.h"
#include "cli/import_rmd/rmd_import.h"

namespace nrd::cli {

// Adds policy.toml, from default.policypath or RMD's default file.
Result<void> move_policies(RmdImport& moving, const RmdDirectory& rmd);
// Adds cpu_map.toml.
Result<void> move_cpu_map(RmdImport& moving, const RmdDirectory& rmd);

}  // namespace nrd::cli
