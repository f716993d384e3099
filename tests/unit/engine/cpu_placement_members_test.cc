// Members of a request that choose among CPUs.
#include <doctest/doctest.h>

#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_placement_members_test {

using namespace nrd::testing;

TEST_CASE("a workload stays apart from another one that grows") {
  CpuPoolFixture fixture;
  const auto first = value_of(fixture.create(for_cpus({.pool = "fast", .count = 1})));
  const auto other =
      value_of(fixture.create(for_cpus({.pool = "fast", .count = 1, .apart = {"1"}, .level = cpuset::Level::L3})));
  CHECK(other.grant.cpu->exclusive.to_string() == "10");
  const auto grown = value_of(fixture.patch(first.id, {.cpu = members<CpuRequest>(R"({"count": 3})")}));
  CHECK(grown.grant.cpu->exclusive.to_string() == "2,4,6");
  CHECK(error_of(fixture.patch(first.id, {.cpu = members<CpuRequest>(R"({"count": 4})")})).code ==
        ErrorCode::NotEnough);
  REQUIRE(fixture.remove(other.id));
  CHECK(fixture.patch(first.id, {.cpu = members<CpuRequest>(R"({"count": 4})")}));
}

TEST_CASE("a workload may grow after the one that it requested to be apart from was deleted") {
  CpuPoolFixture fixture;
  const auto first = value_of(fixture.create(for_cpus({.pool = "fast", .count = 1})));
  const auto other = value_of(fixture.create(for_cpus({.pool = "fast", .count = 1, .apart = {"1"}})));
  REQUIRE(fixture.remove(first.id));
  CHECK(fixture.patch(other.id, {.cpu = members<CpuRequest>(R"({"count": 2})")}));
  CHECK(error_of(fixture.patch(other.id, {.cpu = members<CpuRequest>(R"({"apart": ["1", "9"]})")})).field ==
        "/cpu/apart/1");
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
    const Error refused = error_of(fixture.create(for_cpus(request, {a_process(10)})));
    CHECK(refused.field == field);
    CHECK(refused.code == ErrorCode::BadRequest);
  }
  // In a list these stand in the first request, whichever it concerns.
  Spec list = for_cpus({.pool = "common", .apart = {"9"}}, {a_process(10)});
  list.further_cpus = {{.pool = "fast", .count = 1}};
  CHECK(fixture.create(list).error().field == "/cpu/0/apart/0");
}

TEST_CASE("a workload cannot be apart from itself") {
  CpuPoolFixture fixture;
  const auto workload = value_of(fixture.create(for_cpus({.pool = "fast", .count = 1})));
  const Error refused = error_of(fixture.patch(workload.id, {.cpu = members<CpuRequest>(R"({"apart": ["1"]})")}));
  CHECK(refused.code == ErrorCode::BadRequest);
  CHECK(refused.field == "/cpu/apart/0");
  CHECK(refused.message == "workload 1 cannot be apart from itself");
  CHECK(fixture.state().workloads.at(workload.id).grant == workload.grant);
}

TEST_CASE("CPUs of a further pool that are not near are refused with what is near") {
  CpuPoolFixture fixture;
  NodeConfig config = with_pools();
  config.cpu_pools.front().cpus = *CpuSet::parse("2-7");
  config.cpu_pools.push_back({.name = "far", .cpus = *CpuSet::parse("10-15")});
  REQUIRE(fixture.transaction->reconfigure(config, ReloadMode::Apply));
  Spec spec = for_cpus({.pool = "fast", .count = 1, .near = {"node:0"}, .strict = true});
  spec.near_cpus = {*CpuSet::parse("0-7")};
  spec.further_cpus = {{.pool = "far", .count = 1}};
  const Error refused = error_of(fixture.create(spec));
  CHECK(refused.field == "/cpu/0/near");
  CHECK(refused.message == "pool \"far\" has no CPUs near node:0");
}

}  // namespace nrd::cpu_placement_members_test
