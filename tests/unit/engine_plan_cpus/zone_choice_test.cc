#include "engine/plan/cpus/zone_choice.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/engine_plan_cpus/machines.h"

namespace nrd::zone_choice_test {

using nrd::testing::Machine;
using plan::ChoiceFacts;
using plan::Criterion;
using plan::Supply;
using plan::ZoneIndex;
using plan::ZoneTree;

namespace {

int64_t remainder_of_three(const ChoiceFacts&, ZoneIndex zone, const Criterion&) { return zone % 3; }
int64_t evenness(const ChoiceFacts&, ZoneIndex zone, const Criterion&) { return zone % 2; }
int64_t same(const ChoiceFacts&, ZoneIndex, const Criterion&) { return 0; }
int64_t number(const ChoiceFacts&, ZoneIndex zone, const Criterion&) { return zone; }

}  // namespace

TEST_CASE("criteria apply in order and the last one that decides is the reason") {
  const ZoneTree tree(Machine{}.zones(), Machine{}.cpus());
  const Supply supply(tree, {}, {});
  const ChoiceFacts facts{.supply = supply};
  const Criterion even{.name = "even", .cost = evenness};
  const Criterion wanted_even{.name = "nearest to even", .cost = evenness, .is_requested = true};
  const Criterion third{.name = "third", .cost = remainder_of_three};
  const Criterion equal{.name = "equal", .cost = same};
  const Criterion least{.name = "least", .cost = number};
  struct Case {
    std::vector<ZoneIndex> candidates;
    std::vector<Criterion> criteria;
    ZoneIndex zone;
    std::string reason;
  };
  const std::vector<Case> cases{
      {{5}, {least}, 5, "only zone that fits"},
      {{5, 4, 3}, {even, least}, 4, "even"},
      {{5, 4, 6, 3}, {even, third, least}, 6, "third"},
      {{7, 8, 2, 4}, {even, third, least}, 4, "third"},
      {{8, 2, 14}, {even, third, least}, 2, "least"},
      {{8, 2, 3}, {equal, wanted_even, least}, 2, "nearest to even; then least"},
      {{8, 3}, {equal, wanted_even, least}, 8, "nearest to even"},
      {{8, 2}, {wanted_even, least}, 2, "least"},
  };
  for (const Case& c : cases) {
    const plan::ZoneChoice choice = choose_zone(facts, c.candidates, c.criteria);
    CHECK(choice.zone == c.zone);
    CHECK(choice.reason == c.reason);
  }
}

}  // namespace nrd::zone_choice_test
