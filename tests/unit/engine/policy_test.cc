#include "engine/plan/policy.h"

#include <doctest/doctest.h>

#include <ostream>

#include "tests/unit/engine/fixtures.h"

using namespace nrd;
using nrd::testing::a_spec;

namespace {

FrequencyRequest at_most(uint32_t ratio) {
  FrequencyRequest request;
  request.max = ratio;
  return request;
}

Policies the_policies() {
  return {{"gold", {.cache = CacheRequest{2, 2}, .mba = {}, .frequency = at_most(30)}},
          {"silver", {.cache = CacheRequest{3, 1}, .mba = {}, .frequency = {}}},
          {"slow", {.cache = {}, .mba = {}, .frequency = at_most(10)}},
          {"large", {.cache = CacheRequest{9, 9}, .mba = {}, .frequency = {}}},
          {"narrow", {.cache = CacheRequest{1, 1}, .mba = MbaRequest{.value = 50}, .frequency = {}}}};
}

struct House : nrd::testing::WriterHouse {
  House() {
    options.policies = std::make_shared<const Policies>(the_policies());
    start();
  }
  Result<Workload> create(const std::string& cpus, const std::string& policy, std::optional<CacheRequest> cache = {}) {
    Spec spec = a_spec(cpus);
    spec.policy = policy;
    spec.cache = cache;
    return WriterHouse::create(spec);
  }
};

SpecPatch to_policy(const std::string& name, std::optional<uint32_t> ways = {}) {
  SpecPatch patch;
  patch.policy = name;
  patch.max = patch.min = ways;
  return patch;
}

}  // namespace

TEST_CASE("a policy says what its workload gets, whatever else was asked for") {
  House house;
  const auto workload = house.create("4", "gold", CacheRequest{0, 0});
  REQUIRE(workload);
  CHECK(workload->spec.policy == "gold");
  CHECK(workload->spec.cache == CacheRequest{2, 2});
  CHECK(workload->spec.frequency == at_most(30));
  CHECK(workload->grant.pool == Pool::Guarantee);
}

TEST_CASE("where a policy is silent the request stands") {
  House house;
  CHECK(house.create("4", "slow", CacheRequest{1, 1})->spec.cache == CacheRequest{1, 1});
  CHECK_FALSE(house.create("5", "slow")->spec.cache);
}

TEST_CASE("a name that is no policy is refused with those that are") {
  House house;
  const auto refused = house.create("4", "golden");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::NoSuchPolicy);
  CHECK(refused.error().subject == "golden");
  CHECK(refused.error().allowed == "gold, large, narrow, silver, slow");
  house.options.policies = nullptr;
  house.start();
  CHECK(house.create("4", "gold").error().code == ErrorCode::NoSuchPolicy);
}

TEST_CASE("what cannot be had is blamed on the policy") {
  House house;
  const auto bandwidth = house.create("4", "narrow");
  CHECK(bandwidth.error().code == ErrorCode::Unsupported);
  CHECK(bandwidth.error().field == "/policy");
  const auto ways = house.create("4", "large");
  CHECK(ways.error().field == "/policy");
  CHECK(ways.error().message == "policy large, cache/max: 9 ways, but the guarantee pool has 5");
  CHECK(house.create("99", "gold").error().field == "/core_ids/0");
}

TEST_CASE("what was asked for beside a policy is not blamed on it") {
  House house;
  const auto refused = house.create("4", "slow", CacheRequest{9, 9});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "/cache/max");
  CHECK(refused.error().message == "9 ways, but the guarantee pool has 5");
}

TEST_CASE("the policy a workload has is no change, whatever stands beside it") {
  House house;
  const auto workload = house.create("4", "gold");
  const uint64_t commits = house.store.commits;
  CHECK(house.patch(workload->id, to_policy("gold")) == workload);
  CHECK(house.patch(workload->id, to_policy("gold", 0)) == workload);
  house.options.policies = nullptr;  // the file may be gone since
  house.start();
  CHECK(house.patch(workload->id, to_policy("gold")) == workload);
  CHECK(house.store.commits == commits);
  SpecPatch moved = to_policy("gold");
  moved.core_ids = {"6"};
  moved.cpus = CpuSet{6};
  CHECK(house.patch(workload->id, moved)->spec.cache == CacheRequest{2, 2});
}

TEST_CASE("another policy replaces all that the one before gave") {
  House house;
  const auto workload = house.create("4", "gold");
  const auto silver = house.patch(workload->id, to_policy("silver"));
  REQUIRE(silver);
  CHECK(silver->spec.cache == CacheRequest{3, 1});
  CHECK_FALSE(silver->spec.frequency);
  const auto slow = house.patch(workload->id, to_policy("slow"));
  CHECK_FALSE(slow->spec.cache);
  CHECK(house.patch(workload->id, to_policy("large")).error().field == "/policy");
  CHECK(house.writer->state().workloads.at(workload->id) == *slow);
}

TEST_CASE("ways of one's own end the policy, and saying the same does not") {
  House house;
  const auto workload = house.create("4", "silver");
  SpecPatch same;
  same.max = 3;
  same.min = 1;
  CHECK(house.patch(workload->id, same)->spec.policy == "silver");
  SpecPatch own;
  own.min = 2;
  const auto patched = house.patch(workload->id, own);
  REQUIRE(patched);
  CHECK(patched->spec.policy.empty());
  CHECK(patched->spec.cache == CacheRequest{3, 2});
}

TEST_CASE("what a policy gave outlasts it") {
  House house;
  const auto workload = house.create("4", "gold");
  house.options.policies = std::make_shared<const Policies>(Policies{{"gold", {.cache = CacheRequest{1, 1}}}});
  house.start();
  CHECK(house.writer->state().workloads.at(workload->id) == *workload);
}
