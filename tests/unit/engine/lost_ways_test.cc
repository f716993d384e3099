// Boots with fewer classes of service, with fewer ways, or with other caches, than workloads were granted.
#include "engine/plan/lost_ways.h"

#include <doctest/doctest.h>

#include "tests/unit/engine/fixtures.h"

namespace nrd::lost_ways_test {

using namespace nrd::testing;

namespace {

struct Fixture : TransactionFixture {
  Fixture() { start(); }
};

// In the order of their numbers: y or n.
std::string applied(const NodeState& state) {
  std::string found;
  for (const auto& [id, workload] : state.workloads) found += is_applied(state, workload) ? "y" : "n";
  return found;
}

}  // namespace

TEST_CASE("after a boot with fewer classes, workloads get others, as far as there are some") {
  Fixture fixture;
  std::vector<WorkloadId> ids;
  for (const char* cpu : {"1", "2", "3", "4"}) ids.push_back(value_of(fixture.create(a_spec(cpu).ways(1, 1))).id);
  REQUIRE(fixture.state().workloads.at(ids[3]).grant.clos == ClosId{5});
  fixture.hardware.reboot("boot-2");
  fixture.hardware.facts.rdt.levels.at(3).cat->classes = 4;  // with CDP there are half as many
  fixture.start();
  CHECK(fixture.state().health.hardware_problem == "");
  CHECK(applied(fixture.state()) == "yyyn");
  CHECK(problem_of(fixture.state()).starts_with("workload 4 has no ways: this node has fewer classes"));
  SUBCASE("the last one gets that of one that is deleted") {
    REQUIRE(fixture.remove(ids[0]));
    CHECK(applied(fixture.state()) == "yyn");
    fixture.transaction->repair();
    CHECK(applied(fixture.state()) == "yyy");
    CHECK(fixture.state().workloads.at(ids[3]).grant.clos == ClosId{2});
    CHECK(problem_of(fixture.state()).empty());
    fixture.start();
    CHECK(applied(fixture.state()) == "yyy");
  }
  SUBCASE("the last one can be deleted") {
    REQUIRE(fixture.remove(ids[3]));
    CHECK(problem_of(fixture.state()).empty());
  }
  SUBCASE("the next boot has them all again") {
    fixture.hardware.reboot("boot-3");
    fixture.hardware.facts.rdt.levels.at(3).cat->classes = 16;
    fixture.start();
    CHECK(applied(fixture.state()) == "yyyy");
  }
}

TEST_CASE("after a boot with fewer ways, workloads of each pool get others") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("1").ways(0, 0)));
  REQUIRE(fixture.create(a_spec("2").ways(3, 1)));
  REQUIRE(fixture.create(a_spec("3").ways(1, 1)));
  fixture.hardware.reboot("boot-2");
  fixture.hardware.facts.rdt.levels.at(3).cat->ways = 8;
  fixture.start();
  CHECK(fixture.state().health.hardware_problem == "");
  CHECK(applied(fixture.state()) == "yyy");
  CHECK(problem_of(fixture.state()).empty());
}

TEST_CASE("the problem says how many workloads have failed, besides the first of them") {
  Fixture fixture;
  for (const char* cpu : {"1", "2", "3", "4"}) REQUIRE(fixture.create(a_spec(cpu).ways(1, 1)));
  fixture.hardware.reboot("boot-2");
  fixture.hardware.facts.rdt.levels.at(3).cat->classes = 3;
  fixture.start();
  CHECK(applied(fixture.state()) == "yynn");
  CHECK(problem_of(fixture.state()).starts_with("workload 3 has no ways"));
  CHECK(problem_of(fixture.state()).ends_with("; 2 workloads are Failed"));
}

TEST_CASE("workloads that lack ways wait together for a process that holds a lock") {
  Fixture fixture;
  for (const char* cpu : {"1", "2", "3"}) REQUIRE(fixture.create(a_spec(cpu).ways(0, 0)));
  fixture.hardware.reboot("boot-2");
  fixture.hardware.facts.rdt.levels.at(3).cat->ways = 8;
  fixture.hardware.is_locked = true;
  fixture.start();
  CHECK(applied(fixture.state()) == "nnn");
  CHECK(fixture.hardware.lock_waits == 1);
  fixture.transaction->repair();
  CHECK(fixture.hardware.lock_waits == 2);
  fixture.hardware.is_locked = false;
  fixture.transaction->repair();
  CHECK(applied(fixture.state()) == "yyy");
}

TEST_CASE("workloads keep classes that the node does not have while resctrl is not mounted") {
  Fixture fixture;
  const WorkloadId id = value_of(fixture.create(a_spec("1").ways(1, 1))).id;
  const rdt::Cat cat = *fixture.hardware.facts.rdt.levels.at(3).cat;
  const Grant granted = fixture.state().workloads.at(id).grant;
  fixture.hardware.facts.rdt.levels.at(3).cat.reset();
  fixture.start();
  CHECK(fixture.state().workloads.at(id).grant == granted);
  fixture.hardware.facts.rdt.levels.at(3).cat = cat;
  fixture.start();
  CHECK(applied(fixture.state()) == "y");
}

TEST_CASE("a cache that comes online later takes no ways away") {
  Fixture fixture;
  auto& caches = fixture.hardware.facts.rdt.levels.at(3).caches;
  const auto both = caches;
  caches.edit().erase(CacheId{3, 1});
  fixture.transaction->repair();
  fixture.hardware.add_task(a_process(7), CpuSet::first(16));
  Spec spec;
  spec.tasks = {a_process(7)};
  spec.cache = CacheRequest{.max = 2, .min = 2};
  const Grant granted = value_of(fixture.create(spec)).grant;
  CHECK(granted.ways.size() == 1);
  caches = both;
  fixture.transaction->repair();
  CHECK(fixture.state().workloads.begin()->second.grant == granted);
}

}  // namespace nrd::lost_ways_test
