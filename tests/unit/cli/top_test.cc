#include "cli/top.h"

#include <doctest/doctest.h>

#include "base/json/reader.h"

namespace nrd::cli::top_test {
namespace {

Watched watched(const std::string& id, const std::string& pool, const std::string& usage) {
  return {*json::parse(R"({"id":")" + id + R"(","pool":")" + pool + "\"}"), *json::parse(usage)};
}

std::string usage(const std::string& clos, const std::string& in_class, const std::string& caches) {
  return R"({"cos_name":")" + clos + R"(","workloads_in_class":)" + in_class + R"(,"caches":[)" + caches + "]}";
}

constexpr const char* kHalfFull = R"({"id":0,"ways":3,"ways_bytes":3145728,"occupancy_bytes":1572864,)"
                                  R"("total_mb_per_second":1048.576,"local_mb_per_second":0.000})";
constexpr const char* kUntold = R"({"id":4,"ways":2,"ways_bytes":2097152,"occupancy_bytes":null,)"
                                R"("total_mb_per_second":null,"local_mb_per_second":null})";

}  // namespace

TEST_CASE("a bar shows occupancy relative to the ways, and unknown values are not numbers") {
  const std::vector<Watched> all = {watched("web-1", "guarantee", usage("COS2", "1", kHalfFull)),
                                    watched("2", "shared", usage("COS13", "3", kUntold)), watched("3", "none", "null")};
  CHECK(draw_top(all, 0, false) ==
        "WORKLOAD  POOL       CLASS  CACHE  WAYS  OCCUPANCY                             MEMORY MB/s  LOCAL MB/s\n"
        "web-1     guarantee  COS2   0      3     ##########..........  1.5 of 3.0 MiB       1048.6         0.0\n"
        "2 +2      shared     COS13  4      2     ?                                               ?           ?\n"
        "3         none       -      -      -     has no class of its own\n");
}

TEST_CASE("a bar is never more than full") {
  const std::string too_full = R"({"id":0,"ways":1,"ways_bytes":1048576,"occupancy_bytes":99999999})";
  const std::string drawn = draw_top({watched("1", "guarantee", usage("COS1", "1", too_full))}, 0, false);
  CHECK(drawn.find("####################  95.4 of 1.0 MiB") != std::string::npos);
}

TEST_CASE("a cache of unknown size has no bar") {
  const std::string unknown = R"({"id":0,"ways":1,"ways_bytes":null,"occupancy_bytes":1048576})";
  const std::string drawn = draw_top({watched("1", "guarantee", usage("COS1", "1", unknown))}, 0, false);
  CHECK(drawn.find("  1.0 MiB") != std::string::npos);
  CHECK(drawn.find('#') == std::string::npos);
}

TEST_CASE("lines that do not fit are counted") {
  std::vector<Watched> all;
  for (int i = 1; i <= 9; ++i) all.push_back(watched(std::to_string(i), "none", "null"));
  const std::string drawn = draw_top(all, 5, false);
  CHECK(std::count(drawn.begin(), drawn.end(), '\n') == 5);
  CHECK(drawn.ends_with("and 6 more\n"));
  const std::string whole = draw_top(all, 10, false);
  CHECK(std::count(whole.begin(), whole.end(), '\n') == 10);
  CHECK(whole.find("more") == std::string::npos);
}

TEST_CASE("colours do not change the alignment") {
  const std::vector<Watched> all = {watched("1", "guarantee", usage("COS2", "1", kHalfFull))};
  std::string drawn = draw_top(all, 0, true);
  for (const std::string colour : {"\x1b[32m", "\x1b[0m"}) {
    REQUIRE(drawn.find(colour) != std::string::npos);
    drawn.erase(drawn.find(colour), colour.size());
  }
  CHECK(drawn == draw_top(all, 0, false));
}

}  // namespace nrd::cli::top_test
