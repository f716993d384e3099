#include "cli/human_units.h"

#include <doctest/doctest.h>

#include "base/json/reader.h"

namespace nrd::cli::human_units_test {

TEST_CASE("sizes, frequencies and rates have the units that people use") {
  CHECK(mib(1572864) == "1.5 MiB");
  CHECK(ghz(2200000) == "2.2");
  CHECK(gb_per_second(2500) == "2.5 GB/s");
}

TEST_CASE("frequencies of a workload span those of its CPUs") {
  const auto of = [](const char* text) { return frequencies_of(*json::parse(text)); };
  CHECK(of(R"({"granted_frequencies": {"4": {"min_khz": 2200000, "max_khz": 3000000},
                                       "5": {"min_khz": 2000000, "max_khz": 2800000}}})") == "2 - 3 GHz");
  CHECK(of(R"({"granted_frequencies": {"4": {"min_khz": 3000000, "max_khz": 3000000}}})") == "3 GHz");
  CHECK(of("{}").empty());
}

TEST_CASE("granted ways have a size where the node knows that of a way") {
  const auto workload = json::parse(R"({"granted_ways": {"0": {"ways": 3}, "1": {"ways": 1}}})");
  const auto node = json::parse(R"({"caches": [{"id": 0, "way_bytes": 1572864}]})");
  CHECK(granted_ways_of(*workload, *node) == "cache 0: 3 ways, 4.5 MiB; cache 1: 1 way");
  CHECK(granted_ways_of(*json::parse("{}"), *node).empty());
}

}  // namespace nrd::cli::human_units_test
