// Reads the L3 caches and CPUs of this node from kernel files, because a configuration is written before nrd runs.
// Without a resctrl mount the number of ways is unknown.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace nrd::cli {

struct CacheWays {
  unsigned ways = 0;
  unsigned min_ways = 0;  // of a mask; from min_cbm_bits
  friend bool operator==(const CacheWays&, const CacheWays&) = default;
};

// From info/L3/cbm_mask ("7ff") and info/L3/min_cbm_bits ("1"); nullopt if malformed.
std::optional<CacheWays> cache_ways_of(const std::string& cbm_mask, const std::string& min_cbm_bits);

// Nullopt: resctrl is not mounted, or there is no L3 CAT.
std::optional<CacheWays> read_cache_ways();

// Isolated CPUs (isolcpus=): "4-15"; empty if none.
std::string read_isolated_cpus();

}  // namespace nrd::cli
