// RMD's policies and its names for CPUs, as TOML for nrd: what nrd would refuse is left out, so that it starts.
#pragma once

#include "base/result.h"
#include "cli/import_rmd/rmd_directory.h"
#include "cli/import_rmd/rmd_import.h"

namespace nrd::cli {

// Adds policy.toml; of default.policypath, or the one that RMD had beside its configuration.
Result<void> move_policies(RmdImport& moving, const RmdDirectory& rmd);
// Adds cpu_map.toml.
Result<void> move_cpu_map(RmdImport& moving, const RmdDirectory& rmd);

}  // namespace nrd::cli
