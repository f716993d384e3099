// What the kernel says about this node's L3 caches and CPUs, read from its own files: a configuration is written before
// nrd runs. Where resctrl is not mounted yet, nothing is known of the ways.
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

// From info/L3/cbm_mask ("7ff") and info/L3/min_cbm_bits ("1"); nullopt if they are not what the kernel writes.
std::optional<CacheWays> cache_ways_of(const std::string& cbm_mask, const std::string& min_cbm_bits);

// Nullopt: no resctrl, or no L3 CAT.
std::optional<CacheWays> read_cache_ways();

// CPUs that the kernel keeps its scheduler off (isolcpus=): "4-15"; empty if there are none.
std::string read_isolated_cpus();

}  // namespace nrd::cli
