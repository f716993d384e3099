#include "engine/plan/cpus/select.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/engine_plan_cpus/machines.h"

namespace nrd::select_test {

using nrd::testing::cpus_of;
using nrd::testing::Machine;
using plan::Counts;
using plan::ZoneTree;
using Order = CpuPool::Order;

namespace {

// Two nodes with two L3 of four cores with one thread: L3 0 is 0-3, node 1 is 8-15.
const ZoneTree& tree() {
  static const ZoneTree tree(Machine{.threads = 1}.zones(), CpuSet::first(16));
  return tree;
}

Counts counts_of(const std::string& list) {
  std::vector<uint32_t> numbers(tree().size(), 0);
  for (const CpuId cpu : cpus_of(list).members()) numbers[*tree().position_of(cpu)] = 1;
  return Counts(numbers);
}

struct Case {
  std::string usable;
  uint32_t number = 0;
  Order order = Order::Pack;
  std::string expected;
  std::string chosen{};
  std::string preferred{};
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    plan::Selection selection{.tree = tree(), .usable = counts_of(c.usable), .order = c.order};
    if (!c.chosen.empty()) selection.chosen = counts_of(c.chosen);
    if (!c.preferred.empty()) selection.preferred.push_back(counts_of(c.preferred));
    CpuSet cpus;
    for (const uint32_t position : plan::select(selection, 0, c.number)) cpus.add(tree().cpu_at(position));
    CAPTURE(c.usable);
    CAPTURE(c.number);
    CHECK(cpus.to_string() == c.expected);
  }
}

}  // namespace

TEST_CASE("packing takes the tightest zone, otherwise whole idle ones first") {
  check({
      {.usable = "0-15", .number = 16, .expected = "0-15"},
      {.usable = "0-15", .number = 1, .expected = "0"},
      {.usable = "0-7,12-15", .number = 4, .expected = "12-15"},
      {.usable = "0-6,8-15", .number = 3, .expected = "4-6"},
      {.usable = "0-2,4-7,8-15", .number = 12, .expected = "4-15"},
      {.usable = "0-2,4-7", .number = 6, .expected = "0-1,4-7"},
      {.usable = "0-2,4-6,8-10,12-13", .number = 5, .expected = "8-10,12-13"},
  });
}

TEST_CASE("packing fills zones with chosen CPUs first, then preferred ones") {
  check({
      {.usable = "0-4,6-15", .number = 3, .expected = "4,6-7", .chosen = "5"},
      {.usable = "0-4,6-15", .number = 5, .expected = "0-1,4,6-7", .chosen = "5"},
      {.usable = "0-15", .number = 3, .expected = "12-14", .preferred = "12-15"},
      {.usable = "0-15", .number = 6, .expected = "8-9,12-15", .preferred = "12-15"},
      {.usable = "0-15", .number = 2, .expected = "13-14", .preferred = "13-14"},
  });
}

TEST_CASE("spreading takes from each zone in turn") {
  check({
      {.usable = "0-15", .number = 2, .order = Order::Spread, .expected = "0,8"},
      {.usable = "0-15", .number = 6, .order = Order::Spread, .expected = "0-1,4,8-9,12"},
      {.usable = "0-7,12-15", .number = 2, .order = Order::Spread, .expected = "0,12"},
      {.usable = "0-15", .number = 15, .order = Order::Spread, .expected = "0-14"},
      {.usable = "1-15", .number = 1, .order = Order::Spread, .expected = "8", .chosen = "0"},
      {.usable = "0-2,8-9", .number = 1, .order = Order::Spread, .expected = "0"},
      {.usable = "8-9,0", .number = 1, .order = Order::Spread, .expected = "8"},
      {.usable = "0-15", .number = 2, .order = Order::Spread, .expected = "8,12", .preferred = "8-15"},
  });
}

}  // namespace nrd::select_test
