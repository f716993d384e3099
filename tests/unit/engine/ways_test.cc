#include "engine/plan/ways.h"

#include <doctest/doctest.h>

#include <numeric>

#include "tests/unit/dice.h"

namespace nrd::ways_test {

using plan::Demand;
using plan::Shrink;

namespace {

WayMask drawn(const std::string& picture) {
  WayMask ways;
  for (unsigned way = 0; way < picture.size(); ++way) {
    if (picture[way] == '#') ways = ways | WayMask::run(way, 1);
  }
  return ways;
}

}  // namespace

TEST_CASE("a newcomer leaves the longest run, and shares ways with I/O only when nothing else fits") {
  struct Row {
    const char *free, *unassigned, *shareable;
    unsigned count;
    const char* placed;
  };
  for (const Row& row : {
           Row{".#####.....", "###########", "...........", 2, ".##........"},  // 8 above stay, of 9
           Row{".#####.....", "######.....", "...........", 2, "....##....."},  // what is above is granted
           Row{".#####.....", "######...##", "...........", 2, "....##....."},  //
           Row{".#####.....", "###########", ".##........", 2, "...##......"},  // no I/O
           Row{".#####.....", "###########", ".#####.....", 2, ".##........"},  //
           Row{"#######....", "#######....", "...........", 2, ".....##...."},  // of equal ones the highest
           Row{"..##..####.", "..##..####.", "...........", 2, "..##......."},  // the long run stays whole
           Row{".##.####...", ".##.#######", "...........", 2, ".##........"},  //
           Row{"####...####", "###########", "...........", 2, ".........##"},  // 9 stay, wherever it goes
           Row{".##.####........", ".##.####.#######", "................", 2,
               ".##............."},  // 4 stay to the pool
           Row{"###########", "###########", "...........", 11, "###########"},
           Row{"#..........", "#..........", "...........", 1, "#.........."},
       }) {
    CAPTURE(row.free);
    CAPTURE(row.unassigned);
    const auto placed = plan::place_run(
        {.free = drawn(row.free), .unassigned = drawn(row.unassigned), .shareable = drawn(row.shareable)}, row.count);
    REQUIRE(placed);
    CHECK(*placed == drawn(row.placed));
  }
  CHECK_FALSE(plan::place_run({.free = drawn(".##.##....."), .unassigned = {}, .shareable = {}}, 3));
  CHECK_FALSE(plan::place_run({}, 1));
  CHECK(plan::place_run({.free = WayMask::all(32), .unassigned = WayMask::all(32), .shareable = {}}, 32) ==
        WayMask::all(32));
}

TEST_CASE("the OS fills the longest run, of equal ones that with its floor, then that with the least I/O") {
  struct Row {
    const char *unassigned, *floor, *shareable, *run;
  };
  for (const Row& row : {Row{"##...######", "#..........", ".........##", ".....######"},
                         Row{"###.###.###", "#..........", "##.........", "###........"},
                         Row{".##.##.##..", "#..........", ".##........", "....##....."},
                         Row{".##.##.##..", "#..........", "...........", ".##........"},
                         Row{"...........", "#..........", "...........", "..........."}}) {
    CAPTURE(row.unassigned);
    CHECK(plan::os_run(drawn(row.unassigned), drawn(row.floor), drawn(row.shareable)) == drawn(row.run));
  }
  CHECK(plan::os_run(WayMask::all(32), {}, {}) == WayMask::all(32));
}

TEST_CASE("best effort is packed at the end that leaves the longest run, unless workloads would move") {
  const auto packed = [](const char* free, const char* unassigned, const std::vector<plan::Slot>& slots) {
    return plan::pack_runs({.free = drawn(free), .unassigned = drawn(unassigned), .shareable = {}}, slots);
  };
  using Runs = std::vector<WayMask>;
  CHECK(packed("....####", "########", {{{}, 2}}) == Runs{drawn("......##")});
  CHECK(packed("..####..", "..######", {{{}, 2}}) == Runs{drawn("..##....")});
  // The others stay at their end, whatever that leaves.
  CHECK(packed("..####..", "..######", {{drawn("....##.."), 2}, {{}, 1}}) ==
        Runs{drawn("....##.."), drawn("...#....")});
  CHECK(packed("..####..", "######..", {{drawn("..##...."), 2}, {{}, 1}}) ==
        Runs{drawn("..##...."), drawn("....#...")});
  CHECK(packed("..####..", "..######", {{drawn("...##..."), 1}, {drawn("..#....."), 2}}) ==
        Runs{drawn("....#..."), drawn("..##....")});
  CHECK(packed("..####..", "..####..", {{drawn("..####.."), 3}, {{}, 1}}) ==
        Runs{drawn("...###.."), drawn("..#.....")});
}

TEST_CASE("best effort gets between min and max, the narrowest first") {
  CHECK(*plan::share_ways(3, {{1, 3, 0}}, Shrink::No) == std::vector<unsigned>{3});
  CHECK(*plan::share_ways(3, {{1, 3, 3}, {1, 3, 0}}, Shrink::Yes) == std::vector<unsigned>{2, 1});
  CHECK_FALSE(plan::share_ways(3, {{1, 3, 3}, {1, 3, 0}}, Shrink::No));
  CHECK(*plan::share_ways(4, {{1, 3, 2}, {1, 3, 0}}, Shrink::No) == std::vector<unsigned>{2, 2});
  CHECK(*plan::share_ways(9, {{1, 2, 2}, {2, 4, 0}}, Shrink::Yes) == std::vector<unsigned>{2, 4});
  CHECK_FALSE(plan::share_ways(2, {{2, 3, 2}, {1, 3, 0}}, Shrink::Yes));
}

TEST_CASE("shares never leave their bounds and never exceed the available") {
  testing::Dice dice(7);
  for (int round = 0; round < 20000; ++round) {
    std::vector<Demand> demands;
    for (unsigned n = dice.below(6); n > 0; --n) {
      const unsigned min = 1 + dice.below(4);
      const unsigned max = min + 1 + dice.below(6);
      demands.push_back({min, max, dice.once_in(2) ? 0U : min + dice.below(max - min + 1)});
    }
    const unsigned available = dice.below(33);
    const Shrink shrink = dice.once_in(2) ? Shrink::No : Shrink::Yes;
    const auto ways = plan::share_ways(available, demands, shrink);
    if (!ways) continue;
    CHECK(std::accumulate(ways->begin(), ways->end(), 0U) <= available);
    for (size_t i = 0; i < demands.size(); ++i) {
      CHECK((*ways)[i] >= demands[i].min);
      CHECK((*ways)[i] <= demands[i].max);
      if (shrink == Shrink::No) CHECK((*ways)[i] >= demands[i].now);
    }
  }
}

}  // namespace nrd::ways_test
