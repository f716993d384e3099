#include "api/rmd/views/cache.h"

#include <doctest/doctest.h>

#include <ostream>

#include "api/routing/routes.h"
#include "base/json/reader.h"
#include "engine/model/policies.h"
#include "tests/unit/api_v1/fake_controller.h"
#include "tests/unit/api_v1/fake_engine.h"
#include "tests/unit/api_v1/fixtures.h"

namespace nrd::cache_test {
namespace {

json::Value first_cache_of(NodeState state) {
  FakeEngine engine(std::move(state));
  testing::FakeController onload;
  testing::Fixture fixture{onload};
  http::Response answer;
  routing::routes(fixture.services(engine, onload), {.version = "1", .counters = fixture.counters})(
      {.method = "GET", .path = "/v1/cache/l3/0"},
      http::Reply([&answer](http::Response got) { answer = std::move(got); }));
  REQUIRE(answer.status == 200);
  return *json::parse(answer.body);
}

uint64_t number(const json::Value& cache, std::string_view key) { return cache.find(key)->as_unsigned().value(); }
std::string text(const json::Value& cache, std::string_view key) { return *cache.find(key)->as_string(); }

}  // namespace

TEST_CASE("a cache of more than 4 GiB does not break clients that read 32 bits") {
  NodeState state = a_node();
  state.facts.rdt.geometry.edit()[CacheId{3, 0}] = {
      .ways = 16, .sets = 1U << 30, .partitions = 1, .line_bytes = 64, .bytes = uint64_t{16} << 30};
  const json::Value cache = first_cache_of(std::move(state));
  CHECK(number(cache, "total_size") == 4294967295);
  CHECK(number(cache, "WaySize") == 4294967295);
  CHECK(number(cache, "NumSets") == 1U << 30);
}

TEST_CASE("unknown cache properties are 0 and the NUMA node is 0") {
  const json::Value cache = first_cache_of(a_node());
  for (const char* key : {"NumWays", "NumSets", "NumPartitions", "LineSize", "total_size", "WaySize"}) {
    CHECK(number(cache, key) == 0);
  }
  CHECK(text(cache, "location_on_node") == "0");
}

TEST_CASE("isolated CPUs are available until a workload uses them") {
  NodeState state = a_node();
  state.facts.rdt.isolated = CpuSet{1, 2, 6};
  CHECK(text(first_cache_of(state), "available_isolated_cpus") == "1-2");
  const json::Value cache = first_cache_of(with(state, a_workload(1)));  // CPUs 0 and 1
  CHECK(text(cache, "available_isolated_cpus") == "2");
  CHECK(text(cache, "available_cpus") == "2-3");
}

TEST_CASE("a cache reports how many more workloads of each policy fit") {
  NodeState state = a_node();
  state.config = std::make_shared<const NodeConfig>(
      NodeConfig{.policies = std::make_shared<const Policies>(Policies{
                     {"gold", {.cache = CacheRequest{2, 2}}},
                     {"silver", {.cache = CacheRequest{3, 1}}},
                     {"bronze", {.cache = CacheRequest{0, 0}}},
                     {"fast", {.cache = {}, .mba = {}, .frequency = FrequencyRequest{}}},
                     {"wide", {.cache = CacheRequest{1, 1}, .mba = MbaRequest{.value = 50}, .frequency = {}}}})});
  const auto fits = [](const json::Value& cache, std::string_view policy) {
    return number(*cache.find("available_policy"), policy);
  };
  const json::Value idle = first_cache_of(state);
  CHECK(fits(idle, "gold") == 2);    // of five ways
  CHECK(fits(idle, "silver") == 1);  // the first takes all three
  CHECK(fits(idle, "bronze") == 4);  // as many as there are CPUs
  CHECK(fits(idle, "fast") == 0);
  CHECK(fits(idle, "wide") == 0);
  const json::Value busy = first_cache_of(with(state, a_workload(1)));
  CHECK(fits(busy, "gold") == 1);
  CHECK(fits(busy, "bronze") == 2);
}

TEST_CASE("CPUs of foreign groups and of unowned classes are not available") {
  NodeState state = a_node();
  state.observed.rdt.foreign["theirs"].cpus = CpuSet{3};
  state.observed.rdt.classes[ClosId{3}].cpus = CpuSet{2};
  state.facts.rdt.online.remove(CpuId{1});
  state.facts.rdt.levels[3].caches.edit()[CacheId{3, 0}].remove(CpuId{1});
  CHECK(text(first_cache_of(std::move(state)), "available_cpus") == "0");
}

}  // namespace nrd::cache_test
