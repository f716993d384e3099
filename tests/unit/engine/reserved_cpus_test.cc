#include "engine/model/reserved_cpus.h"

#include <doctest/doctest.h>

#include "engine/model/setting.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::reserved_cpus_test {

using namespace nrd::testing;

namespace {

// Two caches of 11 ways: CPUs 0-7 and 8-15.
struct Fixture : nrd::testing::TransactionFixture {
  explicit Fixture(NodeConfig configured) : TransactionFixture({}, std::move(configured)) { start(); }
};

NodeConfig with_infra() { return {.pools = {.infra = 2}, .groups = {.os = {0}, .infra = {2, 3}}}; }

}  // namespace

TEST_CASE("the infrastructure has its ways where it has CPUs, from the start") {
  Fixture fixture(with_infra());
  CHECK(fixture.cpus(1) == "2-3");
  CHECK(fixture.drawn(1, 0) == ".........##");
  CHECK(fixture.drawn(0, 0) == "#########..");
  CHECK(fixture.drawn(1, 1) == "###########");
  CHECK(fixture.drawn(0, 1) == "###########");
}

TEST_CASE("no workload gets ways on reserved CPUs, or the infrastructure's class") {
  Fixture fixture(with_infra());
  for (const char* cpu : {"0", "2", "3"}) {
    CAPTURE(cpu);
    const Error refused = error_of(fixture.create(a_spec(cpu).ways(1, 1)));
    CHECK(refused.code == ErrorCode::CpuTaken);
    CHECK(refused.subject.starts_with(cpu + std::string("; the ")));
  }
  for (unsigned cpu = 4; cpu < 7; ++cpu) {
    const auto workload = value_of(fixture.create(a_spec(std::to_string(cpu).c_str()).ways(1, 1)));
    CHECK(workload.grant.clos != ClosId{1});
  }
}

TEST_CASE("drift of the infrastructure's class is repaired") {
  Fixture fixture(with_infra());
  rdt::Observed& tree = fixture.hardware.tree.rdt;
  tree.classes.at(ClosId{1}).cpus = {};
  tree.classes.at(ClosId{0}).cpus |= CpuSet{2, 3};
  tree.classes.at(ClosId{1}).ways.at(CacheId{3, 0}) = WayMask::run(4, 2);
  fixture.transaction->repair();
  CHECK(fixture.cpus(1) == "2-3");
  CHECK(fixture.drawn(1, 0) == ".........##");
}

TEST_CASE("the infrastructure has no ways while a foreign group uses COS1") {
  Fixture fixture(NodeConfig{});
  rdt::Observed& tree = fixture.hardware.tree.rdt;
  tree.classes.at(ClosId{0}).cpus.remove(CpuId{7});
  tree.classes[ClosId{1}] = fixture.hardware.new_group();
  tree.classes.at(ClosId{1}).cpus.add(CpuId{7});
  tree.classes.at(ClosId{1}).ways.at(CacheId{3, 0}) = WayMask::run(2, 3);
  fixture.config = with_infra();
  fixture.start();
  CHECK(fixture.cpus(1) == "7");
  CHECK(fixture.drawn(1, 0) == "..###......");
  tree.classes.at(ClosId{1}).cpus = {};
  tree.classes.at(ClosId{0}).cpus.add(CpuId{7});
  tree.classes.at(ClosId{1}).ways.at(CacheId{3, 0}) = WayMask::all(11);
  fixture.transaction->repair();
  CHECK(fixture.cpus(1) == "2-3");
}

TEST_CASE("a CPU from a foreign group returns to the root class") {
  Fixture fixture(NodeConfig{});
  rdt::Observed& tree = fixture.hardware.tree.rdt;
  tree.classes.at(ClosId{0}).cpus.remove(CpuId{3});
  tree.foreign["theirs"].cpus.add(CpuId{3});
  fixture.config = with_infra();
  fixture.start();
  CHECK(fixture.cpus(1) == "2-3");
  tree.foreign.clear();
  fixture.config = {};
  fixture.start();
  CHECK(fixture.cpus(1).empty());
  CHECK(fixture.cpus(0) == "0-15");
}

TEST_CASE("no ways are granted where the root class has different masks for code and data") {
  Fixture fixture(NodeConfig{});
  fixture.hardware.tree.rdt.classes.at(ClosId{0}).split[CacheId{3, 0}] = {WayMask(0x7fe), WayMask(0x7ff)};
  fixture.transaction->repair();
  CHECK(error_of(fixture.create(a_spec("4").ways(1, 1))).code == ErrorCode::Conflict);
  CHECK(fixture.create(a_spec("9").ways(1, 1)));
}

TEST_CASE("removing a group from the configuration releases everything") {
  Fixture fixture(with_infra());
  fixture.config = {};
  fixture.start();
  CHECK(fixture.cpus(1).empty());
  CHECK(fixture.cpus(0) == "0-15");
  CHECK(fixture.drawn(1, 0) == "absent");
  CHECK(fixture.drawn(0, 0) == "###########");
}

TEST_CASE("a workload keeps its grant when its CPUs become reserved") {
  Fixture fixture({});
  const auto workload = fixture.create(a_spec("2").ways(0, 0));  // on the ways that will be the infrastructure's
  REQUIRE(workload);
  fixture.config = with_infra();
  fixture.start();
  CHECK(fixture.cpus(2) == "2");
  CHECK(fixture.drawn(2, 0) == ".........##");
  CHECK(fixture.drawn(1, 0) == "absent");
  REQUIRE(fixture.remove(workload->id));
  fixture.transaction->repair();
  CHECK(fixture.cpus(1) == "2-3");
  CHECK(fixture.drawn(1, 0) == ".........##");
}

TEST_CASE("infrastructure processes are found, followed and released") {
  const auto a_process = [](pid_t id, const char* boot_id) {
    return Task{.id = id, .process = id, .start = 7, .boot_id = boot_id};
  };
  Fixture fixture({.pools = {.infra = 2}, .groups = {.infra_processes = {"ovs*"}}});
  const auto place = [&](pid_t id) { return fixture.hardware.tasks.at(a_process(id, "boot-1")); };
  for (const pid_t id : {10, 20, 30}) fixture.hardware.tasks[a_process(id, "boot-1")] = "";
  fixture.hardware.matching = {a_process(10, "")};
  fixture.transaction->reap_tasks();
  CHECK(place(10) == "COS1");
  CHECK(place(20).empty());
  CHECK(fixture.drawn(1, 0) == ".........##");
  CHECK(fixture.drawn(1, 1) == ".........##");
  CHECK(fixture.drawn(0, 1) == "#########..");

  fixture.hardware.matching = {a_process(10, ""), a_process(20, "")};
  fixture.transaction->reap_tasks();
  CHECK(place(20) == "COS1");
  Spec spec;
  spec.tasks = {a_process(20, "boot-1")};
  spec.cache = CacheRequest{.max = 1, .min = 1};
  const Error refused = error_of(fixture.create(spec));
  CHECK(refused.field == "/task_ids");
  CHECK(refused.message == "task 20 belongs to the infrastructure, by the configuration (infra.processes)");
  spec.tasks = {a_process(30, "boot-1")};
  CHECK(fixture.create(spec));

  fixture.hardware.matching = {a_process(20, "")};  // the other one has another program by now
  fixture.transaction->reap_tasks();
  CHECK(place(10).empty());
  CHECK(place(20) == "COS1");
  CHECK(place(30) == "COS2");
  fixture.config = {};
  fixture.start();
  CHECK(place(20).empty());
  CHECK(place(30) == "COS2");
  CHECK(fixture.drawn(1, 0) == "absent");
}

TEST_CASE("impossible reserved groups are refused with the numbers") {
  const auto refusal = [](const NodeConfig& config) {
    FakeHardware hardware(nrd::testing::NodeShape{});
    FakeStore store;
    const SystemClock clock;
    const Result<void> started = Transaction(hardware, store, clock, config).recover();
    return started ? std::string() : started.error().message;
  };
  CHECK(refusal({.groups = {.infra = {2}}}) == "infra.cpus: the infrastructure has no ways: cache_pools.infra is 0");
  CHECK(refusal({.groups = {.infra_processes = {"ovs*"}}}) ==
        "infra.processes: the infrastructure has no ways: cache_pools.infra is 0");
  CHECK(refusal({.groups = {.os = {3, 16}}}) == "os.cpus: CPU 16 does not exist; this node has CPUs 0-15");
  CHECK(refusal({.pools = {.infra = 1}, .groups = {.os = {1, 2}, .infra = {2}}}) ==
        "infra.cpus: CPU 2 is also in os.cpus");
  CHECK(refusal(with_infra()).empty());
}

TEST_CASE("the shared class is limited to the configured number of workloads") {
  Fixture fixture({.max_shared = 2});
  const auto first = value_of(fixture.create(a_spec("0").ways(0, 0)));
  REQUIRE(fixture.create(a_spec("1").ways(0, 0)));
  const Error third = error_of(fixture.create(a_spec("2").ways(0, 0)));
  CHECK(third.code == ErrorCode::Conflict);
  CHECK(third.message == "the shared class is full (limit: 2 workloads)");
  REQUIRE(fixture.create(a_spec("3").ways(1, 1)));
  REQUIRE(fixture.remove(first.id));
  CHECK(fixture.create(a_spec("2").ways(0, 0)));
}

}  // namespace nrd::reserved_cpus_test
