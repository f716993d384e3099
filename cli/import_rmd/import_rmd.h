// nrdctl import-rmd: RMD's configuration becomes nrd's, and what RMD had granted is asked of nrd.
#pragma once

#include <optional>
#include <string>

#include "cli/client.h"
#include "cli/import_rmd/node_cache.h"
#include "cli/import_rmd/rmd_directory.h"
#include "cli/import_rmd/rmd_import.h"

namespace nrd::cli {

struct ImportRmd {
  std::string directory;  // RMD's; empty: no configuration
  std::string output = "/etc/nrd";
  std::string workloads;  // a file with what RMD's GET /v1/workloads answers; empty: none
  bool force = false;     // files that exist are replaced
};

// All of RMD's files; an error is one that cannot be read or understood.
Result<RmdImport> moved_configuration(const RmdDirectory& rmd, const std::string& output,
                                      const std::optional<CacheWays>& cache);

int import_rmd(const Client& client, const ImportRmd& wanted);

}  // namespace nrd::cli
