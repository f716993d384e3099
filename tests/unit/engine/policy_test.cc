#include "engine/plan/policy.h"

#include <doctest/doctest.h>

#include <ostream>

#include "engine/model/policies.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::policy_test {

using namespace nrd::testing;

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

struct Fixture : nrd::testing::TransactionFixture {
  Fixture() {
    config.policies = std::make_shared<const Policies>(the_policies());
    start();
  }
  Result<Workload> create(const std::string& cpus, const std::string& policy, std::optional<CacheRequest> cache = {}) {
    Spec spec = a_spec(cpus);
    spec.policy = policy;
    spec.cache = cache;
    return TransactionFixture::create(spec);
  }
};

SpecPatch to_policy(const std::string& name, std::optional<uint32_t> ways = {}) {
  SpecPatch patch;
  patch.policy = name;
  if (ways) patch.cache = testing::max_and_min(*ways, *ways);
  return patch;
}

}  // namespace

TEST_CASE("a policy overrides other fields of the request") {
  Fixture fixture;
  const auto workload = value_of(fixture.create("4", "gold", CacheRequest{0, 0}));
  CHECK(workload.spec.policy == "gold");
  CHECK(workload.spec.cache == CacheRequest{2, 2});
  CHECK(workload.spec.frequency == at_most(30));
  CHECK(workload.grant.pool == Pool::Guarantee);
}

TEST_CASE("fields that a policy does not set come from the request") {
  Fixture fixture;
  CHECK(fixture.create("4", "slow", CacheRequest{1, 1})->spec.cache == CacheRequest{1, 1});
  CHECK_FALSE(fixture.create("5", "slow")->spec.cache);
}

TEST_CASE("an unknown policy is refused with the known names") {
  Fixture fixture;
  const Error refused = error_of(fixture.create("4", "golden"));
  CHECK(refused.code == ErrorCode::NoSuchPolicy);
  CHECK(refused.subject == "golden");
  CHECK(refused.allowed == "gold, large, narrow, silver, slow");
  fixture.config.policies = nullptr;
  fixture.start();
  CHECK(fixture.create("4", "gold").error().code == ErrorCode::NoSuchPolicy);
}

TEST_CASE("a refused policy value is attributed to the policy field") {
  Fixture fixture;
  const auto bandwidth = fixture.create("4", "narrow");
  CHECK(bandwidth.error().code == ErrorCode::Unsupported);
  CHECK(bandwidth.error().field == "/policy");
  const auto ways = fixture.create("4", "large");
  CHECK(ways.error().field == "/policy");
  CHECK(ways.error().message == "policy large, cache/max: 9 ways, but the guarantee pool has 5");
  CHECK(fixture.create("99", "gold").error().field == "/core_ids/0");
}

TEST_CASE("a refused request value next to a policy keeps its own field") {
  Fixture fixture;
  const Error refused = error_of(fixture.create("4", "slow", CacheRequest{9, 9}));
  CHECK(refused.field == "/cache/max");
  CHECK(refused.message == "9 ways, but the guarantee pool has 5");
}

TEST_CASE("repeating a workload's policy changes nothing") {
  Fixture fixture;
  const auto workload = fixture.create("4", "gold");
  const uint64_t commits = fixture.store.commits;
  CHECK(fixture.patch(workload->id, to_policy("gold")) == workload);
  CHECK(fixture.patch(workload->id, to_policy("gold", 0)) == workload);
  fixture.config.policies = nullptr;  // the file may be gone since
  fixture.start();
  CHECK(fixture.patch(workload->id, to_policy("gold")) == workload);
  CHECK(fixture.store.commits == commits);
  SpecPatch moved = to_policy("gold");
  moved.core_ids = {"6"};
  moved.cpus = CpuSet{6};
  CHECK(fixture.patch(workload->id, moved)->spec.cache == CacheRequest{2, 2});
}

TEST_CASE("a new policy replaces all values of the old one") {
  Fixture fixture;
  const auto workload = fixture.create("4", "gold");
  const auto silver = value_of(fixture.patch(workload->id, to_policy("silver")));
  CHECK(silver.spec.cache == CacheRequest{3, 1});
  CHECK_FALSE(silver.spec.frequency);
  const auto slow = fixture.patch(workload->id, to_policy("slow"));
  CHECK_FALSE(slow->spec.cache);
  CHECK(fixture.patch(workload->id, to_policy("large")).error().field == "/policy");
  CHECK(fixture.transaction->state().workloads.at(workload->id) == *slow);
}

TEST_CASE("explicit ways end a policy unless they equal its ways") {
  Fixture fixture;
  const auto workload = fixture.create("4", "silver");
  SpecPatch same;
  same.cache = testing::max_and_min(3, 1);
  CHECK(fixture.patch(workload->id, same)->spec.policy == "silver");
  SpecPatch own;
  own.cache = testing::members<CacheRequest>(R"({"min": 2})");
  const auto patched = value_of(fixture.patch(workload->id, own));
  CHECK(patched.spec.policy.empty());
  CHECK(patched.spec.cache == CacheRequest{3, 2});
}

TEST_CASE("a grant outlives the removal of its policy") {
  Fixture fixture;
  const auto workload = fixture.create("4", "gold");
  fixture.config.policies = std::make_shared<const Policies>(Policies{{"gold", {.cache = CacheRequest{1, 1}}}});
  fixture.start();
  CHECK(fixture.transaction->state().workloads.at(workload->id) == *workload);
}

}  // namespace nrd::policy_test
