// Conflicts about CPUs of pools, through the engine.
#include "engine/transaction/conflict_watch.h"

#include <doctest/doctest.h>

#include "engine/model/cpu_sets.h"
#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::conflict_watch_test {

using namespace nrd::testing;

using cpuset::Conflict;
using cpuset::Target;

namespace {

// Without threads.
struct Fixture : CpuPoolFixture {
  Fixture() : CpuPoolFixture(NodeShape{}) {
    hardware.facts.rdt.isolated = CpuSet{15};
    hardware.facts.cpuset.nohz_full = CpuSet{14};
    start();
  }
};

Spec for_process() { return for_cpus({.pool = "fast", .count = 2}, {a_process(10)}); }

}  // namespace

TEST_CASE("conflicts are searched for at start and at each drift check, with what workloads have") {
  Fixture fixture;
  CHECK(fixture.state().cpu_conflicts.empty());
  const auto workload = value_of(fixture.create(for_process()));
  const Conflict conflict{.source = Conflict::Source::Irqbalance, .name = "irqbalance", .cpus = CpuSet{4}};
  fixture.hardware.foreign = {conflict};
  fixture.transaction->repair();
  CHECK(fixture.state().cpu_conflicts == std::vector{conflict});
  const cpuset::PoolUse& searched = fixture.hardware.searched;
  CHECK(searched.pooled.to_string() == "2-15");
  CHECK(searched.exclusive.to_string() == "2-7,10-15");
  CHECK(searched.unbalanced.to_string() == "14-15");
  REQUIRE(searched.holders.size() == 1);
  CHECK(searched.holders.at("1").cpus == workload.grant.cpu->exclusive);
  CHECK(searched.holders.at("1").targets == targets_of(workload));
  fixture.hardware.foreign = {};
  fixture.transaction->repair();
  CHECK(fixture.state().cpu_conflicts.empty());
}

TEST_CASE("a scope that was made after the search began is no conflict") {
  Fixture fixture;
  Spec spec = for_process();
  spec.runs_caller = true;
  spec.owner = Owner{.pid = 10, .start = 7, .boot_id = "boot-1"};
  const Target scope{.kind = Target::Kind::Scope, .name = "nrd-1.scope", .task = a_process(10)};
  fixture.hardware.tree.cpuset.targets[scope] = {.cpus = CpuSet::first(16)};
  REQUIRE(fixture.create(spec));
  fixture.hardware.foreign = {{.source = Conflict::Source::Unit, .name = "nrd-1.scope"},
                              {.source = Conflict::Source::Unit, .name = "nrd-2.scope"}};
  fixture.transaction->repair();
  REQUIRE(fixture.state().cpu_conflicts.size() == 1);
  CHECK(fixture.state().cpu_conflicts.front().name == "nrd-2.scope");
}

}  // namespace nrd::conflict_watch_test
