#include "engine/model/foreign_groups.h"

#include <doctest/doctest.h>

#include "engine/model/setting.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::testing {
namespace {

constexpr CacheId kFirst{0};

struct House : WriterHouse {
  explicit House(const NodeShape& shape = {}) : WriterHouse(shape) { start(); }
};

// A group that `mkdir` made, with these CPUs.
rdt::Class& make_foreign(House& house, const std::string& name, const std::string& cpus) {
  rdt::Class& group = house.hardware.tree.rdt.foreign[name] = house.hardware.new_group();
  if (!cpus.empty()) group.cpus = *CpuSet::parse(cpus);
  house.hardware.tree.rdt.classes[ClosId{0}].cpus -= group.cpus;
  return group;
}

bool is_exclusive(House& house, WorkloadId id) {
  return nrd::is_exclusive(house.state(), house.state().workloads.at(id));
}

}  // namespace

TEST_CASE("a class exists from the first workload in it to the last") {
  House house;
  CHECK(house.hardware.tree.rdt.classes.size() == 1);
  const auto first = house.create(a_spec("0").ways(2, 2));
  REQUIRE(first);
  CHECK(group_names(house.hardware.tree.rdt) == std::set<std::string>{"COS2"});
  REQUIRE(house.remove(first->id));
  CHECK(group_names(house.hardware.tree.rdt).empty());
}

TEST_CASE("a class that was in use before in this boot costs no second commit") {
  House house;
  REQUIRE(house.remove(house.create(a_spec("0").ways(2, 2))->id));
  const uint64_t commits = house.store.commits;
  REQUIRE(house.create(a_spec("0").ways(2, 2)));
  CHECK(house.store.commits == commits + 1);
}

TEST_CASE("beside foreign groups a create observes the tree once, also for its first claims") {
  House house;
  make_foreign(house, "k8s", "7");
  house.hardware.observations = 0;
  REQUIRE(house.create(a_spec("0").ways(2, 2)));
  CHECK(house.hardware.observations == 1);
}

TEST_CASE("a group without CPUs and tasks that has the masks of a new one counts as free") {
  House house;
  for (uint32_t clos = 1; clos < 16; ++clos) house.hardware.tree.rdt.classes[ClosId{clos}] = house.hardware.new_group();
  for (uint32_t cpu = 0; cpu < 5; ++cpu) {
    CHECK(house.create(a_spec(std::to_string(cpu)).ways(1, 1))->grant.clos == ClosId{2 + cpu});
  }
  CHECK(foreign_groups(house.state()).empty());
}

TEST_CASE("leftover groups are removed at the start and after two looks, others never") {
  WriterHouse house;
  auto& classes = house.hardware.tree.rdt.classes;
  for (uint32_t clos = 1; clos < 8; ++clos) classes[ClosId{clos}] = house.hardware.new_group();
  classes[ClosId{3}].tasks = 2;
  house.hardware.tasks[Task{.id = 77, .process = 77}] = "COS3";
  classes[ClosId{4}].ways[kFirst] = WayMask::run(4, 2);
  classes[ClosId{5}].has_monitoring_groups = true;
  house.start();
  CHECK(group_names(house.hardware.tree.rdt) == std::set<std::string>{"COS3", "COS4", "COS5"});
  classes[ClosId{9}] = house.hardware.new_group();
  house.writer->repair();
  CHECK(classes.contains(ClosId{9}));
  house.writer->repair();
  CHECK_FALSE(classes.contains(ClosId{9}));
  CHECK(group_names(house.hardware.tree.rdt) == std::set<std::string>{"COS3", "COS4", "COS5"});
}

TEST_CASE("a group that others made in the place of a class of ours is left alone") {
  House house;
  REQUIRE(house.remove(house.create(a_spec("0").ways(2, 2))->id));
  house.hardware.tree.rdt.classes[ClosId{2}] = house.hardware.new_group();
  house.hardware.tree.rdt.classes[ClosId{2}].cpus = {9};
  house.hardware.tree.rdt.classes[ClosId{0}].cpus.remove(CpuId{9});
  const Observed theirs = house.hardware.tree;
  CHECK(house.create(a_spec("0").ways(2, 2))->grant.clos == ClosId{3});
  house.writer->repair();
  CHECK(house.hardware.tree.rdt.classes.at(ClosId{2}) == theirs.rdt.classes.at(ClosId{2}));
  house.start();
  CHECK(house.hardware.tree.rdt.classes.at(ClosId{2}) == theirs.rdt.classes.at(ClosId{2}));
}

TEST_CASE("when foreign groups hold the classes the refusal names them, and when they go the next request succeeds") {
  House house({.classes = 4});
  REQUIRE(house.create(a_spec("0").ways(1, 1)));
  house.hardware.tree.rdt.foreign["k8s"] = house.hardware.new_group();
  house.hardware.tree.rdt.foreign["vm1"] = house.hardware.new_group();
  const auto refused = house.create(a_spec("1").ways(1, 1));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::NoClass);
  CHECK(refused.error().message ==
        "every class of service is in use: the node has 4, the root class is one, and nrd uses 1; other groups hold 2: "
        "k8s, vm1");
  house.hardware.tree.rdt.foreign.erase("vm1");
  CHECK(house.create(a_spec("1").ways(1, 1)));
}

TEST_CASE("reserved classes are left to others, whether they exist or not") {
  House house({.classes = 5});
  house.options.reserved_classes = 2;
  house.start();
  house.hardware.tree.rdt.foreign["k8s"] = house.hardware.new_group();
  REQUIRE(house.create(a_spec("0").ways(1, 1)));
  REQUIRE(house.create(a_spec("1").ways(1, 1)));
  CHECK(house.create(a_spec("2").ways(1, 1)).error().code == ErrorCode::NoClass);
}

TEST_CASE("a group with all ways that has CPUs or tasks shares the ways of a guarantee, an empty one does not") {
  House house;
  make_foreign(house, "idle", "");
  make_foreign(house, "elsewhere", "9");  // of the second cache
  const auto workload = house.create(a_spec("0").ways(2, 2));
  REQUIRE(workload);
  CHECK(is_exclusive(house, workload->id));
  rdt::Class& late = make_foreign(house, "k8s", "5");
  house.writer->repair();
  CHECK_FALSE(is_exclusive(house, workload->id));
  CHECK(sharing_groups(house.state(), *workload) == std::set<std::string>{"k8s"});
  late.ways[kFirst] = WayMask::run(0, 1);
  house.writer->repair();
  CHECK(is_exclusive(house, workload->id));
  house.hardware.tree.rdt.foreign["idle"].tasks = 1;
  house.writer->repair();
  CHECK(sharing_groups(house.state(), *workload) == std::set<std::string>{"idle"});
}

TEST_CASE("with refuse a guarantee beside such a group is a conflict that names it, best effort is granted") {
  House house;
  house.options.foreign_groups = ForeignGroups::Refuse;
  house.start();
  make_foreign(house, "k8s", "5");
  const auto refused = house.create(a_spec("0").ways(2, 2));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Conflict);
  CHECK(refused.error().message.find("k8s") != std::string::npos);
  CHECK(house.create(a_spec("0").ways(3, 1)));
  CHECK(house.create(a_spec("8").ways(2, 2)));  // another cache
}

TEST_CASE("exclusive ways are not granted and the OS gets back what the kernel lets it have") {
  House house;
  const auto workload = house.create(a_spec("0").ways(2, 2));
  REQUIRE(workload);
  rdt::Class& locked = house.hardware.tree.rdt.foreign["locked"] = house.hardware.new_group();
  locked.mode = rdt::GroupMode::Exclusive;
  locked.ways[kFirst] = WayMask::run(8, 3);
  REQUIRE(house.remove(workload->id));
  CHECK(house.drawn(0, 0) == "########...");
  CHECK(house.create(a_spec("0").ways(0, 0)).error().code == ErrorCode::NotEnough);  // the shared pool is locked
  CHECK(house.create(a_spec("0").ways(5, 5)));
}

TEST_CASE("a group that cannot be read costs only itself") {
  House house;
  house.hardware.tree.rdt.foreign["odd"] = {.is_readable = false};
  const auto workload = house.create(a_spec("0").ways(2, 2));
  REQUIRE(workload);
  CHECK_FALSE(is_exclusive(house, workload->id));  // what it fills is unknown
}

}  // namespace nrd::testing
