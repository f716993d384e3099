#include "hw/rdt/write_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <set>
#include <string_view>

#include "tests/unit/fault_points.h"

namespace nrd::rdt::write_order_test {
namespace {

constexpr CacheId kCache{3, 0};
using Masks = std::map<ClosId, WayMask>;

// "..##...." as in way_mask.h: way 0 at the left.
WayMask drawn(std::string_view ways) {
  uint32_t bits = 0;
  for (size_t way = 0; way < ways.size(); ++way) bits |= ways[way] == '#' ? 1U << way : 0U;
  return WayMask(bits);
}

WaysWrite ways(uint32_t clos, std::string_view mask) { return {ClosId{clos}, kCache, drawn(mask)}; }
CpusWrite cpus(std::initializer_list<uint32_t> numbers, uint32_t clos) { return {ClosId{clos}, numbers}; }

Observed observed_as(const Masks& masks, const std::map<ClosId, CpuSet>& cpus = {}) {
  Observed observed;
  for (const auto& [clos, mask] : masks) observed.classes[clos].ways[kCache] = mask;
  for (const auto& [clos, members] : cpus) observed.classes[clos].cpus = members;
  return observed;
}

Setting setting_to(const Masks& masks) {
  Setting wanted;
  for (const auto& [clos, mask] : masks) wanted.ways[clos][kCache] = mask;
  return wanted;
}

std::vector<WayMask> all_runs(unsigned total, unsigned min_ways) {
  std::vector<WayMask> runs;
  for (unsigned lowest = 0; lowest < total; ++lowest) {
    for (unsigned count = min_ways; lowest + count <= total; ++count) runs.push_back(WayMask::run(lowest, count));
  }
  return runs;
}

// No two classes hold a way that they share neither before nor after.
bool is_safe(const Masks& now, const Masks& before, const Masks& after) {
  for (const auto& [a, mask] : now) {
    for (const auto& [b, other] : now) {
      if (a == b) continue;
      const WayMask may = (before.at(a) & before.at(b)) | (after.at(a) & after.at(b));
      if (!(mask & other & WayMask(~may.bits())).empty()) return false;
    }
  }
  return true;
}

enum class Transition { Safe, Overlap, Wrong };

Transition follow(const Masks& before, const Masks& after, unsigned min_ways) {
  Masks now = before;
  bool safe = true;
  for (const Write& write : write_order(observed_as(before), setting_to(after), {{3, {.min_ways = min_ways}}})) {
    const auto* mask = std::get_if<WaysWrite>(&write);
    if (mask == nullptr || mask->ways == now.at(mask->clos)) return Transition::Wrong;  // writes only what differs
    if (!mask->ways.is_contiguous() || mask->ways.count() < min_ways) return Transition::Wrong;
    now[mask->clos] = mask->ways;
    safe = safe && is_safe(now, before, after);
  }
  if (now != after) return Transition::Wrong;
  return safe ? Transition::Safe : Transition::Overlap;
}

// Whether any order of legal masks avoids the overlap, found by trying all of them.
bool safe_way_exists(const Masks& before, const Masks& after, const std::vector<WayMask>& runs) {
  const auto less = [](const Masks& a, const Masks& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
      return std::pair(x.first, x.second.bits()) < std::pair(y.first, y.second.bits());
    });
  };
  std::set<Masks, decltype(less)> seen({before}, less);
  std::vector<Masks> open{before};
  while (!open.empty()) {
    const Masks now = open.back();
    open.pop_back();
    if (now == after) return true;
    for (const auto& [clos, mask] : now) {
      for (const WayMask run : runs) {
        if (!(before.at(clos) | after.at(clos)).contains(run)) continue;
        Masks next = now;
        next[clos] = run;
        if (is_safe(next, before, after) && seen.insert(next).second) open.push_back(next);
      }
    }
  }
  return false;
}

}  // namespace

TEST_CASE("an unchanged setting is not written") {
  const Masks masks{{ClosId{0}, drawn("####....")}, {ClosId{1}, drawn("....####")}};
  Setting wanted = setting_to(masks);
  wanted.cpus[CpuId{3}] = ClosId{1};
  CHECK(write_order(observed_as(masks, {{ClosId{1}, {3}}}), wanted, {}).empty());
}

TEST_CASE("a class gets a way only after the other released it") {
  const Observed observed = observed_as({{ClosId{1}, drawn("##......")}, {ClosId{2}, drawn("..####..")}});
  const Setting wanted = setting_to({{ClosId{1}, drawn("####....")}, {ClosId{2}, drawn("....##..")}});
  CHECK(write_order(observed, wanted, {}) == std::vector<Write>{ways(2, "....##.."), ways(1, "####....")});
}

TEST_CASE("caches of two levels are written each by its own least mask") {
  const CacheId l2{2, 0};
  Observed observed;
  Setting wanted;
  for (const CacheId cache : {kCache, l2}) {
    observed.classes[ClosId{1}].ways[cache] = wanted.ways[ClosId{2}][cache] = drawn("####....");
    observed.classes[ClosId{2}].ways[cache] = wanted.ways[ClosId{1}][cache] = drawn("....####");
  }
  std::map<CacheId, unsigned> narrowest;
  for (const Write& write : write_order(observed, wanted, {{3, {.min_ways = 1}}, {2, {.min_ways = 2}}})) {
    const auto& mask = std::get<WaysWrite>(write);
    const auto [found, is_first] = narrowest.emplace(mask.cache, mask.ways.count());
    found->second = std::min(found->second, mask.ways.count());
  }
  CHECK(narrowest == std::map<CacheId, unsigned>{{kCache, 1}, {l2, 2}});
}

TEST_CASE("classes fresh from boot need one write each") {
  const Masks boot{{ClosId{0}, drawn("########")}, {ClosId{1}, drawn("########")}, {ClosId{2}, drawn("########")}};
  const Masks goal{{ClosId{0}, drawn("##......")}, {ClosId{1}, drawn("..###...")}, {ClosId{2}, drawn(".....###")}};
  CHECK(write_order(observed_as(boot), setting_to(goal), {}).size() == 3);
}

TEST_CASE("two classes that swap ways never overlap") {
  const Observed observed = observed_as({{ClosId{1}, drawn("####....")}, {ClosId{2}, drawn("....####")}});
  const Setting wanted = setting_to({{ClosId{1}, drawn("....####")}, {ClosId{2}, drawn("####....")}});
  CHECK(write_order(observed, wanted, {}) ==
        std::vector<Write>{ways(1, "#......."), ways(2, ".###...."), ways(1, "....####"), ways(2, "####....")});
}

TEST_CASE("CPUs leave before masks change and enter after") {
  const Masks before{{ClosId{0}, drawn("####....")}, {ClosId{1}, drawn("....####")}, {ClosId{2}, drawn("########")}};
  Setting wanted =
      setting_to({{ClosId{0}, drawn("####....")}, {ClosId{1}, drawn("########")}, {ClosId{2}, drawn("....####")}});
  wanted.cpus = {{CpuId{4}, ClosId{0}}, {CpuId{5}, ClosId{2}}};
  const std::vector<Write> writes = write_order(observed_as(before, {{ClosId{0}, {5}}, {ClosId{1}, {4}}}), wanted, {});
  CHECK(writes == std::vector<Write>{cpus({4}, 0), ways(2, "....####"), ways(1, "########"), cpus({5}, 2)});
}

TEST_CASE("a CPU that changes between two classes waits in the root class while masks change") {
  const Masks before{{ClosId{1}, drawn("####....")}, {ClosId{2}, drawn("....####")}};
  Setting wanted = setting_to({{ClosId{1}, drawn("##......")}});
  wanted.cpus[CpuId{4}] = ClosId{2};
  const std::vector<Write> writes = write_order(observed_as(before, {{ClosId{1}, {4}}}), wanted, {});
  CHECK(writes == std::vector<Write>{cpus({4}, 0), ways(1, "##......"), cpus({4}, 2)});
}

TEST_CASE("a CPU changes between two classes in one write when no mask changes") {
  const Masks before{{ClosId{1}, drawn("####....")}, {ClosId{2}, drawn("....####")}};
  Setting wanted;
  wanted.cpus[CpuId{4}] = ClosId{2};
  CHECK(write_order(observed_as(before, {{ClosId{1}, {4}}}), wanted, {}) == std::vector<Write>{cpus({4}, 2)});
}

TEST_CASE("caches are ordered each on its own") {
  Observed observed = observed_as({{ClosId{1}, drawn("########")}});
  observed.classes[ClosId{1}].ways[CacheId{3, 4}] = drawn("########");
  Setting wanted = setting_to({{ClosId{1}, drawn("##......")}});
  wanted.ways[ClosId{1}][CacheId{3, 4}] = drawn("......##");
  CHECK(write_order(observed, wanted, {}) ==
        std::vector<Write>{ways(1, "##......"), WaysWrite{ClosId{1}, CacheId{3, 4}, drawn("......##")}});
}

TEST_CASE("a class that was not seen is written all the same so that its absence is noticed") {
  CHECK(write_order({}, setting_to({{ClosId{3}, drawn("##......")}}), {}) == std::vector<Write>{ways(3, "##......")});
}

TEST_CASE("of every change of two classes on four ways none overlaps that could avoid it") {
  for (const unsigned min_ways : {1U, 2U}) {
    const std::vector<WayMask> runs = all_runs(4, min_ways);
    for (const WayMask a : runs) {
      for (const WayMask b : runs) {
        for (const WayMask c : runs) {
          for (const WayMask d : runs) {
            const Masks before{{ClosId{1}, a}, {ClosId{2}, b}};
            const Masks after{{ClosId{1}, c}, {ClosId{2}, d}};
            const Transition outcome = follow(before, after, min_ways);
            INFO("COS1 " << a.hex() << " to " << c.hex() << ", COS2 " << b.hex() << " to " << d.hex());
            REQUIRE(outcome != Transition::Wrong);
            if (outcome == Transition::Overlap) REQUIRE_FALSE(safe_way_exists(before, after, runs));
          }
        }
      }
    }
  }
}

TEST_CASE("the root class moves to the other end of the cache and never shares a way on its way") {
  using Rows = std::vector<std::string_view>;
  const auto masks = [](const Rows& rows) {
    Masks drawn_masks;
    for (uint32_t clos = 0; clos < rows.size(); ++clos) drawn_masks[ClosId{clos}] = drawn(rows[clos]);
    return drawn_masks;
  };
  struct Change {
    Rows before, after;
  };
  for (const auto& [before, after] :
       {Change{{"...########", ".##........"}, {"#..........", ".##########"}},  // another one takes its ways
        Change{{"#..........", ".##########"}, {"...########", ".##........"}},  // and gives them back
        Change{{"####.......", "....##.....", "......#####"}, {"......#####", "####.......", "....##....."}},
        Change{{"..#####....", "##.........", ".......####"}, {".......####", "##.........", "..#####...."}}}) {
    CAPTURE(before.front());
    CHECK(follow(masks(before), masks(after), 1) == Transition::Safe);
  }
  CHECK(follow(masks({"..#####....", "##.........", ".......####"}),
               masks({".......####", "##.........", "..#####...."}), 2) == Transition::Safe);
}

TEST_CASE("a root class with holes in its mask gives way like any other") {
  const Masks before{
      {ClosId{0}, drawn("#..####..##")}, {ClosId{1}, drawn(".##........")}, {ClosId{2}, drawn(".......##..")}};
  const Masks after{
      {ClosId{0}, drawn("###....##..")}, {ClosId{1}, drawn("...####....")}, {ClosId{2}, drawn(".........##")}};
  Masks now = before;
  for (const Write& write : write_order(observed_as(before), setting_to(after), {})) {
    const auto& mask = std::get<WaysWrite>(write);
    now[mask.clos] = mask.ways;
    CHECK(is_safe(now, before, after));
  }
  CHECK(now == after);
}

TEST_CASE("changes of many classes with room to spare never overlap") {
  std::mt19937 random(20);
  const auto up_to = [&](unsigned last) { return std::uniform_int_distribution<unsigned>(0, last)(random); };
  // Disjoint guarantees in random order with random gaps, the rest idle with all ways: what a planner asks for.
  const auto setting = [&] {
    std::vector<uint32_t> order{0, 1, 2, 3, 4};
    std::shuffle(order.begin(), order.end(), random);
    Masks masks;
    unsigned way = 0;
    for (const uint32_t clos : order) {
      way += up_to(1);
      const unsigned count = 2 + up_to(2);
      if (way + count > 16 || up_to(3) == 0) {
        masks[ClosId{clos}] = WayMask::all(16);
      } else {
        masks[ClosId{clos}] = WayMask::run(way, count);
        way += count;
      }
    }
    return masks;
  };
  const int rounds = testing::often(20'000);
  for (int round = 0; round < rounds; ++round) {
    const Masks before = setting();
    const Masks after = setting();
    INFO("round " << round);
    REQUIRE(follow(before, after, 1) == Transition::Safe);
  }
}

TEST_CASE("any change of three classes reaches the goal through legal masks") {
  std::mt19937 random(21);
  for (const unsigned min_ways : {1U, 2U}) {
    const std::vector<WayMask> runs = all_runs(11, min_ways);
    const auto any = [&] { return runs[std::uniform_int_distribution<size_t>(0, runs.size() - 1)(random)]; };
    for (int round = 0; round < 20'000; ++round) {
      const Masks before{{ClosId{0}, any()}, {ClosId{1}, any()}, {ClosId{2}, any()}};
      const Masks after{{ClosId{0}, any()}, {ClosId{1}, any()}, {ClosId{2}, any()}};
      INFO("round " << round);
      REQUIRE(follow(before, after, min_ways) != Transition::Wrong);
    }
  }
}

TEST_CASE("a class that is given back gets all ways only after its CPUs have left") {
  Observed observed =
      observed_as({{ClosId{0}, drawn("####....")}, {ClosId{1}, drawn("....####")}}, {{ClosId{1}, {4, 5}}});
  Setting wanted = setting_to({{ClosId{0}, drawn("########")}, {ClosId{1}, drawn("########")}});
  wanted.cpus = {{CpuId{4}, ClosId{0}}, {CpuId{5}, ClosId{0}}};
  const std::vector<Write> writes = write_order(observed, wanted, {});
  REQUIRE(writes.size() == 3);
  CHECK(writes[0] == Write{cpus({4, 5}, 0)});
}

TEST_CASE("the last write of a class that is new lets its CPUs in") {
  Observed observed = observed_as({{ClosId{0}, drawn("########")}, {ClosId{1}, drawn("########")}}, {{ClosId{0}, {4}}});
  Setting wanted = setting_to({{ClosId{0}, drawn("####....")}, {ClosId{1}, drawn("....####")}});
  wanted.cpus[CpuId{4}] = ClosId{1};
  const std::vector<Write> writes = write_order(observed, wanted, {});
  REQUIRE(writes.size() == 3);
  CHECK(writes.back() == Write{cpus({4}, 1)});
}

TEST_CASE("where code and data differ the mask is written, though together they are the goal") {
  Observed observed = observed_as({{ClosId{0}, drawn("####....")}, {ClosId{1}, drawn("....####")}}, {});
  const Setting wanted = setting_to({{ClosId{0}, drawn("####....")}, {ClosId{1}, drawn("....####")}});
  CHECK(write_order(observed, wanted, {}).empty());
  observed.classes.at(ClosId{1}).split[kCache] = {.code = drawn("....#..."), .data = drawn(".....###")};
  CHECK(write_order(observed, wanted, {}) == std::vector<Write>{ways(1, "....####")});
}

TEST_CASE("code and data are separated by the write that reaches the goal") {
  const Split split{.code = drawn("....##.."), .data = drawn("......##")};
  const Observed observed = observed_as({{ClosId{1}, drawn("####....")}, {ClosId{2}, drawn("....####")}});
  Setting wanted = setting_to({{ClosId{1}, drawn("....####")}, {ClosId{2}, drawn("####....")}});
  wanted.split[ClosId{1}][kCache] = split;
  const WaysWrite last{.clos = ClosId{1}, .cache = kCache, .ways = drawn("....####"), .split = split};
  CHECK(write_order(observed, wanted, {}) ==
        std::vector<Write>{ways(1, "#......."), ways(2, ".###...."), last, ways(2, "####....")});
  Observed reached = observed_as({{ClosId{1}, drawn("....####")}, {ClosId{2}, drawn("####....")}});
  CHECK(write_order(reached, wanted, {}) == std::vector<Write>{last});
  reached.classes.at(ClosId{1}).split[kCache] = split;
  CHECK(write_order(reached, wanted, {}).empty());
}

}  // namespace nrd::rdt::write_order_test
