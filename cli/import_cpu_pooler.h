// nrdctl import-cpu-pooler: pools of CPU Pooler's poolconfig*.yaml as nrd's.
#pragma once

#include <string>
#include <vector>

#include "base/json/value.h"
#include "cli/answer.h"
#include "cli/import_report.h"

namespace nrd::cli {

struct ImportCpuPooler {
  std::vector<std::string> files;
  std::string output;  // folder, for a file of each; empty: standard output
  bool force = false;  // replace existing files
};

struct ImportedPools {
  std::string configuration;  // of nrd, in TOML
  Report report;              // of each key
};

// The kind is that of `pooltype` (0.1.0), else that of the name's prefix (0.2.0 and later); other names are the default
// pool. Pure.
ImportedPools imported_pools(const json::Value& config);

OrStop<> import_cpu_pooler(const ImportCpuPooler& wanted);

}  // namespace nrd::cli
