// nrdctl genconf: a configuration for this node, to begin with.
#pragma once

#include <optional>
#include <string>

#include "cli/import_rmd/node_cache.h"

namespace nrd::cli {

struct Genconf {
  std::string output;  // a file; empty: standard output
  bool force = false;  // a file that exists is replaced
};

// What it says about a node with such caches (nullopt: none that nrd could divide) and isolated CPUs.
std::string configuration_for(const std::optional<CacheWays>& cache, const std::string& isolated);

// Reads this node; does not talk to nrd.
int generate_configuration(const Genconf& wanted);

}  // namespace nrd::cli
