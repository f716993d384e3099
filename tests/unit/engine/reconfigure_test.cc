#include <doctest/doctest.h>

#include "tests/unit/engine/fixtures.h"

namespace nrd::reconfigure_test {

using namespace nrd::testing;

namespace {

// Pools of 11 ways unless configured: OS 1, guarantee 5, best effort 3, shared 2.
struct Fixture : nrd::testing::TransactionFixture {
  explicit Fixture(const NodeConfig& configured = {}) : TransactionFixture({}, configured) { start(); }
  Result<void> apply_config(const NodeConfig& next) { return transaction->reconfigure(next, ReloadMode::Apply); }
  Result<void> check_config(const NodeConfig& next) { return transaction->reconfigure(next, ReloadMode::Check); }
};

NodeConfig pools(unsigned os, unsigned guarantee, unsigned besteffort, unsigned shared, unsigned infra = 0) {
  return {.pools = {.os = os, .guarantee = guarantee, .besteffort = besteffort, .shared = shared, .infra = infra}};
}

}  // namespace

TEST_CASE("new pools serve new workloads, and workloads in place keep their ways") {
  Fixture fixture;
  const auto first = value_of(fixture.create(a_spec("0").ways(5, 5)));
  CHECK_FALSE(fixture.create(a_spec("1").ways(2, 2)));
  const Observed before = fixture.hardware.tree;
  const uint64_t commits = fixture.store.records.revision;
  REQUIRE(fixture.apply_config(pools(1, 8, 0, 2)));
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.store.records.revision == commits);
  CHECK(fixture.state().workloads.at(first.id) == first);
  CHECK(fixture.create(a_spec("1").ways(3, 3)));
  CHECK(fixture.drawn(2, 0) == ".#####.....");
  CHECK(fixture.drawn(3, 0) == "......###..");
}

TEST_CASE("a pool that would lose granted ways is refused with workloads and number of ways") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("0").ways(3, 3)));
  REQUIRE(fixture.create(a_spec("1").ways(2, 2)));
  const Error refused = error_of(fixture.apply_config(pools(1, 2, 3, 2)));
  CHECK(refused.code == ErrorCode::Conflict);
  CHECK(refused.field == "cache_pools.guarantee");
  CHECK(refused.message ==
        "cache_pools: guarantee would have ways 1-2, but needs 5 (ways 1-5) for workloads 1 (ways 1-3), 2 (ways 4-5)");
  CHECK(refused.allowed == "guarantee with ways 1-5; or delete these workloads first");
  // Also the ways of the second, which it keeps.
  CHECK(error_of(fixture.apply_config(pools(3, 4, 2, 2))).allowed.starts_with("guarantee with ways 1-5"));
  CHECK(main_layout(fixture.state())->guarantee == WayMask::run(1, 5));
  CHECK(fixture.state().config->pools == PoolSizes{});
  CHECK_FALSE(fixture.create(a_spec("2").ways(1, 1)));
  REQUIRE(fixture.remove(WorkloadId{1}));
  REQUIRE(fixture.remove(WorkloadId{2}));
  CHECK(fixture.apply_config(pools(1, 2, 3, 2)));
}

TEST_CASE("a pool that would move away from granted ways is refused") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("0").ways(0, 0)));
  CHECK(error_of(fixture.apply_config(pools(1, 4, 3, 2))).message ==
        "cache_pools: shared would have ways 8-9, but needs 3 (ways 8-10) for workload 1 (ways 9-10)");
}

TEST_CASE("at most eight workloads in the way are named") {
  Fixture fixture;
  for (int cpu = 0; cpu < 10; ++cpu) REQUIRE(fixture.create(a_spec(std::to_string(cpu)).ways(0, 0)));
  CHECK(error_of(fixture.apply_config(pools(1, 8, 2, 0))).message.ends_with("8 (ways 9-10) and 2 more"));
}

TEST_CASE("ways outside their pool since an earlier start do not block other changes") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("0").ways(5, 5)));
  fixture.config = pools(1, 2, 6, 2);
  fixture.start();
  CHECK(fixture.apply_config(pools(1, 2, 5, 2)));
  // The OS does not get them.
  CHECK(error_of(fixture.apply_config(pools(2, 2, 5, 2))).code == ErrorCode::Conflict);
}

TEST_CASE("pools that do not fit the node are refused") {
  Fixture fixture;
  const Error refused = error_of(fixture.apply_config(pools(1, 9, 3, 2)));
  CHECK(refused.code == ErrorCode::BadRequest);
  CHECK(refused.field == "cache_pools");
}

TEST_CASE("checking a configuration changes nothing") {
  Fixture fixture;
  const Observed before = fixture.hardware.tree;
  CHECK(fixture.check_config(pools(1, 4, 3, 2, 1)));
  CHECK_FALSE(fixture.check_config(pools(1, 9, 3, 2)));
  CHECK(fixture.state().config->pools == PoolSizes{});
  CHECK(fixture.hardware.tree == before);
}

TEST_CASE("limits of requests change without a write") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("0").ways(0, 0)));
  REQUIRE(fixture.apply_config({.max_shared = 1}));
  CHECK_FALSE(fixture.create(a_spec("1").ways(0, 0)));
  REQUIRE(fixture.apply_config({.max_shared = 2}));
  CHECK(fixture.create(a_spec("1").ways(0, 0)));
}

TEST_CASE("infrastructure and OS CPUs are set and released") {
  Fixture fixture;
  const Observed before = fixture.hardware.tree;
  NodeConfig config = pools(1, 4, 3, 2, 1);
  config.groups = {.os = {3}, .infra = {2}};
  REQUIRE(fixture.apply_config(config));
  CHECK(fixture.cpus(1) == "2");
  CHECK(fixture.drawn(1, 0) == "..........#");
  CHECK(fixture.drawn(0, 0) == "##########.");
  CHECK_FALSE(fixture.create(a_spec("3").ways(1, 1)));
  REQUIRE(fixture.apply_config({}));
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.create(a_spec("3").ways(1, 1)));
}

TEST_CASE("hardware that refuses leaves the present configuration in force") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("8").ways(2, 2)));
  const Observed before = fixture.hardware.tree;
  NodeConfig config = pools(1, 5, 3, 1, 1);
  config.groups = {.os = {}, .infra = {2}};
  uint64_t position = 0;
  for (Result<void> applied = fail(ErrorCode::Hardware, ""); !applied;) {
    fixture.hardware.fail_at_write = fixture.hardware.writes + ++position;
    applied = fixture.apply_config(config);
    if (applied) break;
    CAPTURE(position);
    CHECK(applied.error().code == ErrorCode::Hardware);
    CHECK(fixture.hardware.tree == before);
    CHECK(fixture.state().config->groups == ReservedCpus{});
    CHECK(main_layout(fixture.state())->infra.empty());
  }
  CHECK(position > 2);
  CHECK(fixture.cpus(1) == "2");
}

TEST_CASE("a CPU that does not hold its frequency blocks no reload") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("0").frequency({.min = 12, .max = 20})));
  fixture.hardware.stuck = {0};
  fixture.hardware.tree.pstate.cpus.edit().at(CpuId{0}).max = KHz{1'000'000};
  fixture.transaction->repair();
  const std::string problem = fixture.state().health.hardware_problem;
  CHECK(problem == "CPU is stuck");
  REQUIRE(fixture.apply_config(pools(1, 8, 0, 2)));
  CHECK(fixture.create(a_spec("1").ways(8, 8)));
  CHECK(fixture.state().health.hardware_problem == problem);
}

TEST_CASE("a start after a crash takes what the files say") {
  Fixture fixture;
  NodeConfig config = pools(1, 4, 3, 2, 1);
  config.groups = {.os = {}, .infra = {2}};
  REQUIRE(fixture.apply_config(config));
  fixture.start();  // with the old files
  CHECK(fixture.drawn(1, 0) == "absent");
  CHECK(fixture.cpus(0) == "0-15");
}

}  // namespace nrd::reconfigure_test
