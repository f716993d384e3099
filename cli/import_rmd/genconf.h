// nrdctl genconf: prints an initial configuration for this node.
#pragma once

#include <optional>
#include <string>

#include "cli/answer.h"
#include "cli/import_rmd/pool_fit.h"

namespace nrd::cli {

struct Genconf {
  std::string output;  // output file; empty: standard output
  bool force = false;  // replace an existing file
};

// Text for a node with these L3 caches (nullopt: no divisible cache) and isolated CPUs.
std::string configuration_for(const std::optional<CacheWays>& cache, const std::string& isolated);

// Reads this node; does not contact nrd.
OrStop<> generate_configuration(const Genconf& wanted);

}  // namespace nrd::cli
