// Workloads with CPUs of several pools.
#include <doctest/doctest.h>

#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_pool_list_test {

using namespace nrd::testing;

namespace {

// Pools: fast 2-7,10-15; common 8-9, shared.
struct ListFixture : CpuPoolFixture {
  ListFixture() {
    add_group(kUnit, {a_process(10)});
    hardware.tree.cpuset.shares[kUnit] = {};
  }
  const CpuSet& runs() const { return hardware.tree.cpuset.targets.at(kUnit).cpus; }
};

Spec for_pools(CpuRequest first, std::vector<CpuRequest> further) {
  Spec spec = for_unit(kUnit.name, std::move(first));
  spec.further_cpus = std::move(further);
  return spec;
}

Spec fast_and_common(uint32_t count, uint32_t milli, uint32_t limit = 0) {
  return for_pools({.pool = "fast", .count = count},
                   {{.pool = "common", .request_milli = milli, .limit_milli = limit}});
}

}  // namespace

TEST_CASE("a workload runs on the CPUs of all its pools, after a restart too, and afterwards where it ran before") {
  ListFixture fixture;
  const Observed before = fixture.hardware.tree;
  const auto workload = value_of(fixture.create(fast_and_common(2, 500, 800)));
  CHECK(fixture.runs() == *CpuSet::parse("2,4,8-9"));
  CHECK(cpus_of(workload) == CpuSet{2, 4});
  REQUIRE(workload.grant.cpu_by_pool.size() == 2);
  CHECK(workload.grant.cpu_by_pool[0].pool == "fast");
  CHECK(allowed_cpus(fixture.state(), workload.grant.cpu_by_pool[1]) == CpuSet{8, 9});
  CHECK(is_applied(fixture.state(), workload));
  // The exclusive CPUs count whole.
  CHECK(fixture.hardware.tree.cpuset.shares.at(kUnit) == cpuset::Share{.weight = weight_of(2500), .quota_us = 280'000});
  fixture.start();
  CHECK(fixture.state().workloads.at(workload.id).grant == workload.grant);
  CHECK(fixture.runs() == *CpuSet::parse("2,4,8-9"));
  CHECK(requested_milli(fixture.state(), fixture.state().config->cpu_pools[1]) == 500);
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.hardware.tree == before);
}

TEST_CASE("a change keeps the granted CPUs - an object changes the first pool, a list replaces all, null removes all") {
  ListFixture fixture;
  const auto workload = value_of(fixture.create(fast_and_common(2, 500)));
  REQUIRE(fixture.patch(workload.id, {.cpu = members<CpuRequest>(R"({"count": 3})")}));
  CHECK(fixture.runs() == *CpuSet::parse("2,4,6,8-9"));
  SpecPatch list{.cpu = members<CpuRequest>(R"({"pool": "fast", "count": 1})")};
  list.further_cpus = std::vector<CpuRequest>();
  const auto alone = value_of(fixture.patch(workload.id, list));
  CHECK(alone.grant.cpu_by_pool.empty());
  CHECK(cpus_of(alone).size() == 1);
  CHECK(cpus_of(alone).is_subset_of(*CpuSet::parse("2,4,6")));
  list.further_cpus = std::vector<CpuRequest>{{.pool = "common"}};
  REQUIRE(fixture.patch(workload.id, list));
  CHECK(fixture.runs() == (cpus_of(alone) | CpuSet{8, 9}));
}

TEST_CASE("all pools or none: a refusal names the item, and nothing has changed") {
  ListFixture fixture;
  const Observed before = fixture.hardware.tree;
  const auto refusal = [&fixture](const Spec& spec) { return error_of(fixture.create(spec)); };
  CHECK(refusal(fast_and_common(2, 2001)).field == "/cpu/1/request_milli");
  CHECK(refusal(fast_and_common(7, 500)).field == "/cpu/0/count");
  CHECK(refusal(for_pools({.pool = "fast", .count = 1}, {{.pool = "fast", .count = 1}})).field == "/cpu/1/pool");
  CHECK(refusal(for_pools({.pool = "fast", .count = 1}, {{.pool = "slow"}})).field == "/cpu/1/pool");
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.state().workloads.empty());
}

TEST_CASE("a refusal of an object for the first of several pools names the member of the object") {
  ListFixture fixture;
  const auto workload = value_of(fixture.create(fast_and_common(2, 500)));
  const auto field = [&](const std::string& object) {
    return error_of(fixture.patch(workload.id, {.cpu = members<CpuRequest>(object)})).field;
  };
  CHECK(field(R"({"count": 13})") == "/cpu/count");
  CHECK(field(R"({"near": ["cpu:2"], "strict": true, "apart": ["9"]})") == "/cpu/apart/0");
  CHECK(field(R"({"pool": "none"})") == "/cpu/pool");
  CHECK(field(R"({"pool": "common", "request_milli": 100})") == "/cpu");  // which the second one has
}

TEST_CASE("all CPUs of one of its pools go offline: reported, while the tasks run on the others") {
  ListFixture fixture;
  REQUIRE(fixture.create(fast_and_common(1, 500)));
  fixture.hardware.facts.rdt.online.remove(CpuId{2});
  fixture.transaction->repair();
  CHECK(fixture.runs() == CpuSet{8, 9});
  CHECK(problem_of(fixture.state()) ==
        "all CPUs of workload 1 in pool fast are offline, so its tasks run on its other CPUs; bring one of 2 online");
}

}  // namespace nrd::cpu_pool_list_test
