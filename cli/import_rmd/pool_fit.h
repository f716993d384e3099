// Fits RMD's pool sizes to an L3 cache.
//
// RMD's defaults assume 20 ways: OS 1, guarantee 10, best effort 7, shared 2. On another cache each pool keeps its
// share, rounded down, and the guarantee pool gets the rest:
//
//   11 ways:   bit 0  O GGGGGG BBB S  bit 10     (OS 1, guarantee 6, best effort 3, shared 1, as RMD's gen_conf has it)
//
// A pool is empty or at least as large as the smallest mask. nrd checks the same at start (engine/model/pools.h).
#pragma once

#include <string>

#include "cli/import_rmd/node_cache.h"

namespace nrd::cli {

struct Pools {
  unsigned os = 1;
  unsigned guarantee = 10;
  unsigned besteffort = 7;
  unsigned shared = 2;
  unsigned sum() const { return os + guarantee + besteffort + shared; }
  friend bool operator==(const Pools&, const Pools&) = default;
};

Pools fit_pools(const CacheWays& cache);

// Why these pools do not fit the cache, with the numbers; empty: they fit.
std::string misfit(const Pools& pools, const CacheWays& cache);

// "OGGGGGGBBBS", way 0 on the left; "." for unassigned ways.
std::string drawing(const Pools& pools, const CacheWays& cache);

}  // namespace nrd::cli
