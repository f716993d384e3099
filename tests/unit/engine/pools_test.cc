#include "engine/model/pools.h"

#include <doctest/doctest.h>

#include "hw/rdt/types.h"
#include "tests/unit/results.h"

namespace nrd::pools_test {

using nrd::testing::error_of;
namespace {

std::string drawn(const PoolPartition& layout, unsigned ways) {
  std::string text(ways, '.');
  const auto draw = [&](WayMask pool, char glyph) {
    for (unsigned way = 0; way < ways; ++way) {
      if (pool.contains(WayMask::run(way, 1))) text[way] = glyph;
    }
  };
  draw(layout.os, 'O');
  draw(layout.guarantee, 'G');
  draw(layout.besteffort, 'B');
  draw(layout.shared, 'S');
  draw(layout.infra, 'I');
  return text;
}

}  // namespace

TEST_CASE("pools follow the number of ways when nothing is configured") {
  struct Row {
    unsigned ways, min_ways;
    const char* layout;
  };
  for (const Row& row : {Row{11, 1, "OGGGGGBBBSS"}, Row{12, 1, "OGGGGGBBBBSS"}, Row{20, 1, "OGGGGGGGGGGBBBBBBSSS"},
                         Row{16, 1, "OGGGGGGGBBBBBSSS"}, Row{11, 2, "OOGGGGBBBSS"}, Row{4, 1, "OGBS"}, Row{3, 1, "OGS"},
                         Row{2, 1, "OG"}, Row{1, 1, "O"}, Row{6, 2, "OOGGSS"}, Row{3, 2, "OO."}}) {
    CAPTURE(row.ways);
    const Result<PoolPartition> layout =
        plan_layout({.classes = 4, .ways = row.ways, .min_ways = row.min_ways, .shareable = {}}, {});
    REQUIRE(layout);
    CHECK(drawn(*layout, row.ways) == row.layout);
  }
}

TEST_CASE("configured pool sizes win and the guarantee pool gets the rest") {
  const rdt::Cat cat{.classes = 16, .ways = 20, .min_ways = 1, .shareable = {}};
  CHECK(drawn(*plan_layout(cat, {.os = 1, .guarantee = 10, .besteffort = 7, .shared = 2}), 20) ==
        "OGGGGGGGGGGBBBBBBBSS");
  CHECK(drawn(*plan_layout(cat, {.os = 2, .guarantee = {}, .besteffort = 0, .shared = 4, .infra = 3}), 20) ==
        "OOGGGGGGGGGGGSSSSIII");
}

TEST_CASE("sizes that do not fit are refused with the numbers") {
  const rdt::Cat cat{.classes = 16, .ways = 11, .min_ways = 2, .shareable = {}};
  CHECK(error_of(plan_layout(cat, {.os = 2, .guarantee = 10, .besteffort = 7, .shared = 2})).message ==
        "cache_pools: os 2 + guarantee 10 + besteffort 7 + shared 2 + infra 0 = 21 ways, but each L3 cache has 11");
  CHECK_FALSE(plan_layout(cat, {.os = 1, .guarantee = {}, .besteffort = {}, .shared = {}}));
  CHECK_FALSE(plan_layout(cat, {.os = {}, .guarantee = {}, .besteffort = {}, .shared = 1}));
}

}  // namespace nrd::pools_test
