// Sizes, frequencies and rates in the units that people use.
#pragma once

#include <cstdint>
#include <string>

#include "base/json/value.h"

namespace nrd::cli {

std::string mib(uint64_t bytes);           // "1.5 MiB"
std::string ghz(uint64_t khz);             // "2.2", without the unit
std::string gb_per_second(uint64_t mbps);  // "2.5 GB/s"

// "2.2 - 3 GHz", of all CPUs of a workload; one value if the bounds are equal; empty: no frequency was granted.
std::string frequencies_of(const json::Value& workload);
// "cache 0: 3 ways, 4.5 MiB"; without the size of a way in `node` (GET /v1/node) "cache 0: 3 ways"; empty: no ways.
std::string granted_ways_of(const json::Value& workload, const json::Value& node);

}  // namespace nrd::cli
