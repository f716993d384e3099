#include "engine/model/foreign_groups.h"

#include <doctest/doctest.h>

#include "engine/model/setting.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::foreign_groups_test {

using namespace nrd::testing;

namespace {

constexpr CacheId kFirst{3, 0};

struct Fixture : TransactionFixture {
  explicit Fixture(const NodeShape& shape = {}) : TransactionFixture(shape) { start(); }
};

// A group that `mkdir` made, with these CPUs.
rdt::Class& make_foreign(Fixture& fixture, const std::string& name, const std::string& cpus) {
  rdt::Class& group = fixture.hardware.tree.rdt.foreign[name] = fixture.hardware.new_group();
  if (!cpus.empty()) group.cpus = *CpuSet::parse(cpus);
  fixture.hardware.tree.rdt.classes[ClosId{0}].cpus -= group.cpus;
  return group;
}

bool is_exclusive(Fixture& fixture, WorkloadId id) {
  return nrd::is_exclusive(fixture.state(), fixture.state().workloads.at(id));
}

}  // namespace

TEST_CASE("reusing a class within a boot needs no second commit") {
  Fixture fixture;
  REQUIRE(fixture.remove(fixture.create(a_spec("0").ways(2, 2))->id));
  const uint64_t commits = fixture.store.commits;
  REQUIRE(fixture.create(a_spec("0").ways(2, 2)));
  CHECK(fixture.store.commits == commits + 1);
}

TEST_CASE("with foreign groups a create observes the tree once") {
  Fixture fixture;
  make_foreign(fixture, "k8s", "7");
  fixture.hardware.observations = 0;
  REQUIRE(fixture.create(a_spec("0").ways(2, 2)));
  CHECK(fixture.hardware.observations == 1);
}

TEST_CASE("leftover groups are removed at start and after two observations, foreign groups never") {
  TransactionFixture fixture;
  auto& classes = fixture.hardware.tree.rdt.classes;
  for (uint32_t clos = 1; clos < 8; ++clos) classes[ClosId{clos}] = fixture.hardware.new_group();
  classes[ClosId{3}].tasks = 2;
  fixture.hardware.tasks[Task{.id = 77, .process = 77}] = "COS3";
  classes[ClosId{4}].ways[kFirst] = WayMask::run(4, 2);
  classes[ClosId{5}].has_monitoring_groups = true;
  fixture.start();
  CHECK(group_names(fixture.hardware.tree.rdt) == std::set<std::string>{"COS3", "COS4", "COS5"});
  classes[ClosId{9}] = fixture.hardware.new_group();
  fixture.transaction->repair();
  CHECK(classes.contains(ClosId{9}));
  fixture.transaction->repair();
  CHECK_FALSE(classes.contains(ClosId{9}));
  CHECK(group_names(fixture.hardware.tree.rdt) == std::set<std::string>{"COS3", "COS4", "COS5"});
}

TEST_CASE("a foreign group that replaces a class of nrd is left untouched") {
  Fixture fixture;
  REQUIRE(fixture.remove(fixture.create(a_spec("0").ways(2, 2))->id));
  fixture.hardware.tree.rdt.classes[ClosId{2}] = fixture.hardware.new_group();
  fixture.hardware.tree.rdt.classes[ClosId{2}].cpus = {9};
  fixture.hardware.tree.rdt.classes[ClosId{0}].cpus.remove(CpuId{9});
  const Observed theirs = fixture.hardware.tree;
  CHECK(fixture.create(a_spec("0").ways(2, 2))->grant.clos == ClosId{3});
  fixture.transaction->repair();
  CHECK(fixture.hardware.tree.rdt.classes.at(ClosId{2}) == theirs.rdt.classes.at(ClosId{2}));
  fixture.start();
  CHECK(fixture.hardware.tree.rdt.classes.at(ClosId{2}) == theirs.rdt.classes.at(ClosId{2}));
}

TEST_CASE("a CPU that other software puts into a class of nrd returns to the root class") {
  Fixture fixture;
  const auto workload = value_of(fixture.create(a_spec("0").ways(2, 2)));
  auto& classes = fixture.hardware.tree.rdt.classes;
  const auto stray = [&classes](CpuId cpu) {
    for (auto& [clos, group] : classes) group.cpus.remove(cpu);
    classes.at(ClosId{2}).cpus.add(cpu);
  };
  for (const uint64_t repairs : {1U, 2U}) {  // not claimed yet, and claimed
    stray(CpuId{9});
    fixture.transaction->repair();
    CHECK(fixture.cpus(2) == "0");
    CHECK(fixture.state().health.drift_repairs == repairs);
  }
  stray(CpuId{10});
  CHECK(fixture.create(a_spec("10").ways(1, 1))->grant.clos == ClosId{3});
  CHECK(fixture.cpus(2) == "0");
  stray(CpuId{11});
  fixture.start();
  CHECK(fixture.cpus(2) == "0");
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.cpus(0) == "0-9,11-15");
}

TEST_CASE("reserved classes stay free for foreign groups") {
  Fixture fixture({.classes = 5});
  fixture.config.reserved_classes = 2;
  fixture.start();
  fixture.hardware.tree.rdt.foreign["k8s"] = fixture.hardware.new_group();
  REQUIRE(fixture.create(a_spec("0").ways(1, 1)));
  REQUIRE(fixture.create(a_spec("1").ways(1, 1)));
  CHECK(fixture.create(a_spec("2").ways(1, 1)).error().code == ErrorCode::NoClass);
}

TEST_CASE("a group with all ways that has CPUs or tasks shares the ways of a guarantee, an empty one does not") {
  Fixture fixture;
  make_foreign(fixture, "idle", "");
  make_foreign(fixture, "elsewhere", "9");  // of the second cache
  const auto workload = value_of(fixture.create(a_spec("0").ways(2, 2)));
  CHECK(is_exclusive(fixture, workload.id));
  rdt::Class& late = make_foreign(fixture, "k8s", "5");
  fixture.transaction->repair();
  CHECK_FALSE(is_exclusive(fixture, workload.id));
  CHECK(sharing_groups(fixture.state(), workload) == std::set<std::string>{"k8s"});
  late.ways[kFirst] = WayMask::run(0, 1);
  fixture.transaction->repair();
  CHECK(is_exclusive(fixture, workload.id));
  fixture.hardware.tree.rdt.foreign["idle"].tasks = 1;
  fixture.transaction->repair();
  CHECK(sharing_groups(fixture.state(), workload) == std::set<std::string>{"idle"});
}

TEST_CASE("ways of an exclusive group are not granted") {
  Fixture fixture;
  const auto workload = value_of(fixture.create(a_spec("0").ways(2, 2)));
  rdt::Class& locked = fixture.hardware.tree.rdt.foreign["locked"] = fixture.hardware.new_group();
  locked.mode = rdt::GroupMode::Exclusive;
  locked.ways[kFirst] = WayMask::run(8, 3);
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.drawn(0, 0) == "########...");
  CHECK(fixture.create(a_spec("0").ways(0, 0)).error().code == ErrorCode::NotEnough);  // the shared pool is locked
  CHECK(fixture.create(a_spec("0").ways(5, 5)));
}

TEST_CASE("an unreadable group affects only itself") {
  Fixture fixture;
  fixture.hardware.tree.rdt.foreign["odd"] = {.is_readable = false};
  const auto workload = value_of(fixture.create(a_spec("0").ways(2, 2)));
  CHECK_FALSE(is_exclusive(fixture, workload.id));  // what it fills is unknown
}

}  // namespace nrd::foreign_groups_test
