#include "engine/model/reserved_cpus.h"

#include <doctest/doctest.h>

#include "engine/model/setting.h"
#include "tests/unit/engine/fixtures.h"

using namespace nrd;
using nrd::testing::a_spec;
using nrd::testing::FakeHardware;
using nrd::testing::FakeStore;

namespace {

// Two caches of 11 ways: CPUs 0-7 and 8-15.
struct House : nrd::testing::WriterHouse {
  explicit House(EngineOptions configured) : WriterHouse({}, std::move(configured)) { start(); }
};

EngineOptions with_infra() { return {.pools = {.infra = 2}, .groups = {.os = {0}, .infra = {2, 3}}}; }

}  // namespace

TEST_CASE("the infrastructure has its ways where it has CPUs, from the start") {
  House house(with_infra());
  CHECK(house.cpus(1) == "2-3");
  CHECK(house.drawn(1, 0) == ".........##");
  CHECK(house.drawn(0, 0) == "#########..");
  CHECK(house.drawn(1, 1) == "###########");
  CHECK(house.drawn(0, 1) == "###########");
}

TEST_CASE("no workload gets ways on CPUs of a group, or the infrastructure's class") {
  House house(with_infra());
  for (const char* cpu : {"0", "2", "3"}) {
    CAPTURE(cpu);
    const auto refused = house.create(a_spec(cpu).ways(1, 1));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::CpuTaken);
    CHECK(refused.error().subject.starts_with(cpu + std::string("; the ")));
  }
  for (unsigned cpu = 4; cpu < 8; ++cpu) {
    const auto workload = house.create(a_spec(std::to_string(cpu).c_str()).ways(1, 1));
    if (workload) CHECK(workload->grant.clos != ClosId{1});
  }
}

TEST_CASE("what others do to the infrastructure is put back") {
  House house(with_infra());
  rdt::Observed& tree = house.hardware.tree.rdt;
  tree.classes.at(ClosId{1}).cpus = {};
  tree.classes.at(ClosId{0}).cpus |= CpuSet{2, 3};
  tree.classes.at(ClosId{1}).ways.at(CacheId{0}) = WayMask::run(4, 2);
  house.writer->repair();
  CHECK(house.cpus(1) == "2-3");
  CHECK(house.drawn(1, 0) == ".........##");
}

TEST_CASE("while others use COS1 the infrastructure goes without") {
  House house(EngineOptions{});
  rdt::Observed& tree = house.hardware.tree.rdt;
  tree.classes.at(ClosId{0}).cpus.remove(CpuId{7});
  tree.classes[ClosId{1}] = house.hardware.new_group();
  tree.classes.at(ClosId{1}).cpus.add(CpuId{7});
  tree.classes.at(ClosId{1}).ways.at(CacheId{0}) = WayMask::run(2, 3);
  house.options = with_infra();
  house.start();
  CHECK(house.cpus(1) == "7");
  CHECK(house.drawn(1, 0) == "..###......");
  tree.classes.at(ClosId{1}).cpus = {};
  tree.classes.at(ClosId{0}).cpus.add(CpuId{7});
  tree.classes.at(ClosId{1}).ways.at(CacheId{0}) = WayMask::all(11);
  house.writer->repair();
  CHECK(house.cpus(1) == "2-3");
}

TEST_CASE("a CPU that a group of others had goes back to the root class") {
  House house(EngineOptions{});
  rdt::Observed& tree = house.hardware.tree.rdt;
  tree.classes.at(ClosId{0}).cpus.remove(CpuId{3});
  tree.foreign["theirs"].cpus.add(CpuId{3});
  house.options = with_infra();
  house.start();
  CHECK(house.cpus(1) == "2-3");
  tree.foreign.clear();
  house.options = {};
  house.start();
  CHECK(house.cpus(1).empty());
  CHECK(house.cpus(0) == "0-15");
}

TEST_CASE("ways are not granted where others have set code and data apart in the root class") {
  House house(EngineOptions{});
  house.hardware.tree.rdt.classes.at(ClosId{0}).split[CacheId{0}] = {WayMask(0x7fe), WayMask(0x7ff)};
  house.writer->repair();
  const auto refused = house.create(a_spec("4").ways(1, 1));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Conflict);
  CHECK(house.create(a_spec("9").ways(1, 1)));
}

TEST_CASE("a group that is configured no longer leaves no trace") {
  House house(with_infra());
  house.options = {};
  house.start();
  CHECK(house.cpus(1).empty());
  CHECK(house.cpus(0) == "0-15");
  CHECK(house.drawn(1, 0) == "absent");
  CHECK(house.drawn(0, 0) == "###########");
}

TEST_CASE("a workload keeps what it had before a group was configured") {
  House house({});
  const auto workload = house.create(a_spec("2").ways(0, 0));  // on the ways that will be the infrastructure's
  REQUIRE(workload);
  house.options = with_infra();
  house.start();
  CHECK(house.cpus(2) == "2");
  CHECK(house.drawn(2, 0) == ".........##");
  CHECK(house.drawn(1, 0) == "absent");
  REQUIRE(house.remove(workload->id));
  house.writer->repair();
  CHECK(house.cpus(1) == "2-3");
  CHECK(house.drawn(1, 0) == ".........##");
}

TEST_CASE("processes of the infrastructure are found, followed and let go") {
  const auto a_process = [](pid_t id, const char* boot_id) {
    return Task{.id = id, .process = id, .start = 7, .boot_id = boot_id};
  };
  House house({.pools = {.infra = 2}, .groups = {.infra_processes = {"ovs*"}}});
  const auto place = [&](pid_t id) { return house.hardware.tasks.at(a_process(id, "boot-1")); };
  for (const pid_t id : {10, 20, 30}) house.hardware.tasks[a_process(id, "boot-1")] = "";
  house.hardware.matching = {a_process(10, "")};
  house.writer->reap_tasks();
  CHECK(place(10) == "COS1");
  CHECK(place(20).empty());
  CHECK(house.drawn(1, 0) == ".........##");
  CHECK(house.drawn(1, 1) == ".........##");
  CHECK(house.drawn(0, 1) == "#########..");

  house.hardware.matching = {a_process(10, ""), a_process(20, "")};
  house.writer->reap_tasks();
  CHECK(place(20) == "COS1");
  Spec spec;
  spec.tasks = {a_process(20, "boot-1")};
  spec.cache = CacheRequest{.max = 1, .min = 1};
  const auto refused = house.create(spec);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "/task_ids");
  CHECK(refused.error().message == "task 20 belongs to the infrastructure, by the configuration (infra.processes)");
  spec.tasks = {a_process(30, "boot-1")};
  CHECK(house.create(spec));

  house.hardware.matching = {a_process(20, "")};  // the other one has another program by now
  house.writer->reap_tasks();
  CHECK(place(10).empty());
  CHECK(place(20) == "COS1");
  CHECK(place(30) == "COS2");
  house.options = {};
  house.start();
  CHECK(place(20).empty());
  CHECK(place(30) == "COS2");
  CHECK(house.drawn(1, 0) == "absent");
}

TEST_CASE("groups that the node cannot have are refused with the numbers") {
  const auto refusal = [](const EngineOptions& options) {
    FakeHardware hardware(nrd::testing::NodeShape{});
    FakeStore store;
    const SystemClock clock;
    const Result<void> started = Transaction(hardware, store, clock, options).recover();
    return started ? std::string() : started.error().message;
  };
  CHECK(refusal({.groups = {.infra = {2}}}) == "infra.cpus: there are no ways for them, cache_pools.infra is 0");
  CHECK(refusal({.groups = {.infra_processes = {"ovs*"}}}) ==
        "infra.processes: there are no ways for them, cache_pools.infra is 0");
  CHECK(refusal({.groups = {.os = {3, 16}}}) == "os.cpus: CPU 16 does not exist; this node has CPUs 0-15");
  CHECK(refusal({.pools = {.infra = 1}, .groups = {.os = {1, 2}, .infra = {2}}}) ==
        "infra.cpus: CPU 2 is one of os.cpus, too");
  CHECK(refusal(with_infra()).empty());
}

TEST_CASE("the shared class has as many workloads as it may have") {
  House house({.max_shared = 2});
  const auto first = house.create(a_spec("0").ways(0, 0));
  REQUIRE(first);
  REQUIRE(house.create(a_spec("1").ways(0, 0)));
  const auto third = house.create(a_spec("2").ways(0, 0));
  REQUIRE_FALSE(third);
  CHECK(third.error().code == ErrorCode::Conflict);
  CHECK(third.error().message == "the shared class has the 2 workloads that it may have");
  REQUIRE(house.create(a_spec("3").ways(1, 1)));
  REQUIRE(house.remove(first->id));
  CHECK(house.create(a_spec("2").ways(0, 0)));
}
