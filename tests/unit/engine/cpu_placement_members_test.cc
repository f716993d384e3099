// Members of a request that choose among CPUs.
#include <doctest/doctest.h>

#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_placement_members_test {

using namespace nrd::testing;

TEST_CASE("a workload stays apart from another one that grows") {
  CpuPoolFixture fixture;
  const auto first = fixture.create(for_cpus({.pool = "fast", .count = 1}));
  REQUIRE(first);
  const auto other = fixture.create(for_cpus({.pool = "fast", .count = 1, .apart = {"1"}, .level = cpuset::Level::L3}));
  REQUIRE(other);
  CHECK(other->grant.cpu->exclusive.to_string() == "10");
  const auto grown = fixture.patch(first->id, {.cpu = members<CpuRequest>(R"({"count": 3})")});
  REQUIRE(grown);
  CHECK(grown->grant.cpu->exclusive.to_string() == "2,4,6");
  const auto refused = fixture.patch(first->id, {.cpu = members<CpuRequest>(R"({"count": 4})")});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::NotEnough);
  REQUIRE(fixture.remove(other->id));
  CHECK(fixture.patch(first->id, {.cpu = members<CpuRequest>(R"({"count": 4})")}));
}

TEST_CASE("a workload may grow after the one that it asked to be apart from was deleted") {
  CpuPoolFixture fixture;
  const auto first = fixture.create(for_cpus({.pool = "fast", .count = 1}));
  REQUIRE(first);
  const auto other = fixture.create(for_cpus({.pool = "fast", .count = 1, .apart = {"1"}}));
  REQUIRE(other);
  REQUIRE(fixture.remove(first->id));
  CHECK(fixture.patch(other->id, {.cpu = members<CpuRequest>(R"({"count": 2})")}));
  const auto refused = fixture.patch(other->id, {.cpu = members<CpuRequest>(R"({"apart": ["1", "9"]})")});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "/cpu/apart/1");
}

TEST_CASE("members without an effect are refused") {
  struct Row {
    CpuRequest request;
    const char* field;
  };
  CpuPoolFixture fixture;
  for (const auto& [request, field] :
       {Row{{.pool = "common", .near = {"node:0"}}, "/cpu/near"}, Row{{.pool = "common", .apart = {"9"}}, "/cpu/apart"},
        Row{{.pool = "common", .level = cpuset::Level::L3}, "/cpu/level"},
        Row{{.pool = "common", .strict = true}, "/cpu/strict"},
        Row{{.pool = "fast", .count = 1, .strict = true}, "/cpu/strict"}}) {
    CAPTURE(field);
    const auto refused = fixture.create(for_cpus(request, {a_process(10)}));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().field == field);
    CHECK(refused.error().code == ErrorCode::BadRequest);
  }
  // In a list these stand in the first request, whichever it concerns.
  Spec list = for_cpus({.pool = "common", .apart = {"9"}}, {a_process(10)});
  list.further_cpus = {{.pool = "fast", .count = 1}};
  CHECK(fixture.create(list).error().field == "/cpu/0/apart/0");
}

TEST_CASE("a workload cannot be apart from itself") {
  CpuPoolFixture fixture;
  const auto workload = fixture.create(for_cpus({.pool = "fast", .count = 1}));
  REQUIRE(workload);
  const auto refused = fixture.patch(workload->id, {.cpu = members<CpuRequest>(R"({"apart": ["1"]})")});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::BadRequest);
  CHECK(refused.error().field == "/cpu/apart/0");
  CHECK(refused.error().message == "workload 1 cannot be apart from itself");
  CHECK(fixture.state().workloads.at(workload->id).grant == workload->grant);
}

TEST_CASE("CPUs of a further pool that are not near are refused with what is near") {
  CpuPoolFixture fixture;
  NodeConfig config = with_pools().node;
  config.cpu_pools.front().cpus = *CpuSet::parse("2-7");
  config.cpu_pools.push_back({.name = "far", .cpus = *CpuSet::parse("10-15")});
  REQUIRE(fixture.writer->reconfigure(config, ReloadMode::Apply));
  Spec spec = for_cpus({.pool = "fast", .count = 1, .near = {"node:0"}, .strict = true});
  spec.near_cpus = {*CpuSet::parse("0-7")};
  spec.further_cpus = {{.pool = "far", .count = 1}};
  const auto refused = fixture.create(spec);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "/cpu/0/near");
  CHECK(refused.error().message == "pool \"far\" has no CPUs near node:0");
}

}  // namespace nrd::cpu_placement_members_test
