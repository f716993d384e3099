#include "cli/import_rmd/pool_fit.h"

#include <doctest/doctest.h>

namespace nrd::cli::pool_fit_test {

TEST_CASE("pools keep RMD's proportions on every cache and fill it") {
  struct Row {
    CacheWays cache;
    const char* drawn;
  };
  for (const auto& [cache, drawn] : {
           Row{{20, 1}, "OGGGGGGGGGGBBBBBBBSS"},  //
           Row{{16, 1}, "OGGGGGGGGGBBBBBS"},      //
           Row{{15, 1}, "OGGGGGGGGBBBBBS"},       //
           Row{{12, 1}, "OGGGGGGBBBBS"},          //
           Row{{11, 1}, "OGGGGGGBBBS"},           //
           Row{{11, 2}, "OOGGGGBBBSS"},           //
           Row{{20, 2}, "OOGGGGGGGGGBBBBBBBSS"},  //
           Row{{7, 2}, "OOGGGSS"},                //
           Row{{5, 2}, "OOGGG"},                  //
           Row{{4, 1}, "OGBS"},                   //
           Row{{3, 1}, "OGS"},                    //
           Row{{2, 1}, "OG"},                     //
           Row{{1, 1}, "O"},                      //
       }) {
    CAPTURE(drawn);
    CHECK(drawing(fit_pools(cache), cache) == drawn);
  }
}

TEST_CASE("the pools fit every cache") {
  for (unsigned ways = 1; ways <= 32; ++ways) {
    for (unsigned least = 1; least <= ways; ++least) {
      CAPTURE(ways);
      CAPTURE(least);
      const CacheWays cache{ways, least};
      const Pools pools = fit_pools(cache);
      CHECK(misfit(pools, cache).empty());
      CHECK(drawing(pools, cache).size() == ways);
    }
  }
}

TEST_CASE("impossible pool sizes are reported with all numbers") {
  CHECK(misfit({}, {20, 1}).empty());
  CHECK(misfit({}, {11, 1}) ==
        "OS 1 + guarantee 10 + besteffort 7 + shared 2 = 20 ways, but each L3 cache here has 11");
  CHECK(misfit({0, 3, 2, 1}, {11, 1}) ==
        "OS 0 + guarantee 3 + besteffort 2 + shared 1 = 6 ways; the OS pool needs ways, and the smallest mask "
        "here has 1");
  CHECK(misfit({2, 3, 2, 1}, {11, 2}) ==
        "OS 2 + guarantee 3 + besteffort 2 + shared 1 = 8 ways; the smallest mask here has 2");
  CHECK(misfit({2, 3, 0, 2}, {11, 2}).empty());
}

TEST_CASE("ways are read in the kernel's format only") {
  CHECK(cache_ways_of("7ff\n", "1\n") == CacheWays{11, 1});
  CHECK(cache_ways_of("fffff\n", "2\n") == CacheWays{20, 2});
  for (const auto& [mask, least] : {std::pair{"", "1\n"}, std::pair{"7ff\n", ""}, std::pair{"0\n", "1\n"},
                                    std::pair{"7ff\n", "0\n"}, std::pair{"7ff\n", "12\n"}, std::pair{"7fe\n", "1\n"},
                                    std::pair{"7ff x\n", "1\n"}, std::pair{"1ffffffff\n", "1\n"}}) {
    CAPTURE(mask);
    CHECK_FALSE(cache_ways_of(mask, least));
  }
}

}  // namespace nrd::cli::pool_fit_test
