// The L3 caches of this node, and RMD's pool sizes fitted to them.
//
// RMD's defaults assume 20 ways: OS 1, guarantee 10, best effort 7, shared 2. On another cache each pool keeps its
// share, rounded down, and the guarantee pool gets the rest:
//
//   11 ways:   bit 0  O GGGGGG BBB S  bit 10     (OS 1, guarantee 6, best effort 3, shared 1, as RMD's gen_conf has it)
//
// A pool is empty or at least as large as the smallest mask. nrd checks the same at start (engine/model/pools.h).
#pragma once

#include <optional>
#include <string>

namespace nrd::cli {

// Read from kernel files, because a configuration is written before nrd runs.
struct CacheWays {
  unsigned ways = 0;
  unsigned min_ways = 0;  // of a mask; from min_cbm_bits
  friend bool operator==(const CacheWays&, const CacheWays&) = default;
};

// From info/L3/cbm_mask ("7ff") and info/L3/min_cbm_bits ("1"); nullopt if malformed.
std::optional<CacheWays> cache_ways_of(const std::string& cbm_mask, const std::string& min_cbm_bits);

// Of this node; nullopt: resctrl is not mounted, so that the number of ways is unknown, or there is no L3 CAT.
std::optional<CacheWays> read_cache_ways();

// Isolated CPUs (isolcpus=): "4-15"; empty if none.
std::string read_isolated_cpus();

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
