// nrdctl import-rmd: converts RMD's configuration and recreates its workloads in nrd.
#pragma once

#include <optional>
#include <string>

#include "cli/answer.h"
#include "cli/import_rmd/pool_fit.h"
#include "cli/import_rmd/rmd_directory.h"
#include "cli/import_rmd/rmd_import.h"

namespace nrd::cli {

struct ImportRmd {
  std::string directory;  // RMD's directory; empty: no configuration
  std::string output = "/etc/nrd";
  std::string workloads;  // a saved response of RMD's GET /v1/workloads; empty: none
  bool force = false;     // replace existing files
};

// Converts all of RMD's files; fails if one cannot be read or parsed.
Result<RmdImport> moved_configuration(const RmdDirectory& rmd, const std::string& output,
                                      const std::optional<CacheWays>& cache);

OrStop<> import_rmd(const Client& client, const ImportRmd& wanted);

}  // namespace nrd::cli
