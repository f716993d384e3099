#include "api/rmd/views/hospitality_score.h"

#include <doctest/doctest.h>

#include <ostream>

#include "engine/plan/grant.h"
#include "tests/unit/dice.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::hospitality_score_test {

using nrd::testing::a_spec;

namespace {

// Eleven ways: OS 1, guarantee 5, best effort 3, shared 2. CPUs 0-7 on cache 0, 8-15 on cache 1.
struct Fixture : nrd::testing::TransactionFixture {
  explicit Fixture(const nrd::testing::NodeShape& shape = {}, NodeConfig configured = {})
      : TransactionFixture(shape, std::move(configured)) {
    start();
  }
  bool create(Spec spec) { return TransactionFixture::create(std::move(spec)).has_value(); }
  std::map<CacheId, unsigned> score(uint32_t max, uint32_t min) const {
    return rmd::hospitality(state(), {.max = max, .min = min}).value();
  }
};

std::map<CacheId, unsigned> scores(unsigned first, unsigned second) {
  return {{CacheId{3, 0}, first}, {CacheId{3, 1}, second}};
}

// What happens if workloads with this request really are created on CPUs of `cache`, one each.
struct Tried {
  unsigned score = 0;  // of the first
  unsigned fitted = 0;
};

Tried try_them(const NodeState& before, const CacheRequest& request, CacheId cache) {
  NodeState state = before;
  Tried tried;
  for (const CpuId cpu : (free_cpus(before) & before.facts.rdt.main().caches.at(cache)).members()) {
    Spec spec = a_spec(std::to_string(cpu.value));
    spec.cache = request;
    const WorkloadId id{1000 + cpu.value};
    const auto created = plan::create(state, id, spec, {});
    if (!created) break;
    const unsigned ways = created->at(id).grant.ways.at(cache).count();
    if (tried.fitted++ == 0) tried.score = request.max == 0 ? 100 : 100 * ways / request.max;
    state.workloads = *created;
  }
  return tried;
}

}  // namespace

TEST_CASE("an empty node has the full capacity of its pools") {
  const Fixture fixture;
  CHECK(fixture.score(5, 5) == scores(100, 100));
  CHECK(fixture.score(6, 6) == scores(0, 0));
  CHECK(fixture.score(3, 1) == scores(100, 100));
  CHECK(fixture.score(6, 1) == scores(50, 50));
  CHECK(fixture.score(8, 4) == scores(0, 0));
  CHECK(fixture.score(0, 0) == scores(100, 100));
}

TEST_CASE("the score of a cache falls with each grant") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("0").ways(3, 3)));
  REQUIRE(fixture.create(a_spec("8").ways(2, 1)));
  CHECK(fixture.score(2, 2) == scores(100, 100));
  CHECK(fixture.score(3, 3) == scores(0, 100));
  CHECK(fixture.score(3, 1) == scores(100, 33));
}

TEST_CASE("shrinking best effort adds capacity for a new workload") {
  for (const bool shrink : {false, true}) {
    NodeConfig config;
    config.shrink = shrink;
    Fixture fixture({}, config);
    REQUIRE(fixture.create(a_spec("0").ways(3, 1)));
    CHECK(fixture.score(2, 1) == scores(shrink ? 50 : 0, 100));
  }
}

TEST_CASE("without a free class only shared workloads fit") {
  Fixture fixture({.classes = 3});
  REQUIRE(fixture.create(a_spec("0").ways(1, 1)));
  REQUIRE(fixture.create(a_spec("8").ways(0, 0)));
  CHECK(fixture.score(1, 1) == scores(0, 0));
  CHECK(fixture.score(0, 0) == scores(100, 100));
}

TEST_CASE("a pool without ways has no score, and max and min must select a pool") {
  NodeConfig config;
  config.pools.shared = 0;
  const Fixture fixture({}, config);
  CHECK(fixture.score(0, 0).empty());
  CHECK(rmd::hospitality({}, {.max = 1, .min = 1})->empty());
  for (const CacheRequest request : {CacheRequest{.max = 2, .min = 0}, CacheRequest{.max = 1, .min = 2}}) {
    CHECK(rmd::hospitality(fixture.state(), request).error().code == ErrorCode::BadRequest);
  }
}

TEST_CASE("as many workloads fit as the pool has ways for") {
  Fixture fixture;
  CHECK(rmd::how_many_fit(fixture.state(), {.max = 2, .min = 2}, CacheId{3, 0}, 8) == 2);
  CHECK(rmd::how_many_fit(fixture.state(), {.max = 1, .min = 1}, CacheId{3, 0}, 3) == 3);
  CHECK(rmd::how_many_fit(fixture.state(), {.max = 0, .min = 0}, CacheId{3, 0}, 7) == 7);
  REQUIRE(fixture.create(a_spec("0").ways(4, 4)));
  CHECK(rmd::how_many_fit(fixture.state(), {.max = 2, .min = 2}, CacheId{3, 0}, 8) == 0);
  CHECK(rmd::how_many_fit(fixture.state(), {.max = 2, .min = 2}, CacheId{3, 1}, 8) == 2);
}

TEST_CASE("predicted capacity matches the planner for any state") {
  unsigned welcome = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    nrd::testing::Dice dice(seed);
    const auto a_request = [&dice] {
      const uint32_t min = dice.below(4);
      return CacheRequest{.max = min == 0 ? 0 : min + dice.below(3), .min = min};
    };
    NodeConfig config;
    config.shrink = dice.once_in(2);
    Fixture fixture({.ways = 8 + dice.below(20), .classes = 3 + dice.below(10), .min_ways = 1 + dice.below(2)}, config);
    for (unsigned n = dice.below(12); n > 0; --n) {
      Spec spec =
          a_spec(std::to_string(dice.below(16)) + (dice.once_in(3) ? "," + std::to_string(dice.below(16)) : ""));
      spec.cache = a_request();
      fixture.create(std::move(spec));
    }
    const CacheRequest request = a_request();
    const auto planned = rmd::hospitality(fixture.state(), request);
    REQUIRE(planned);
    for (const auto& [cache, score] : *planned) {
      const CpuSet free = free_cpus(fixture.state()) & fixture.state().facts.rdt.main().caches.at(cache);
      if (free.empty()) continue;
      const Tried tried = try_them(fixture.state(), request, cache);
      CHECK(score == tried.score);
      CHECK(rmd::how_many_fit(fixture.state(), request, cache, static_cast<unsigned>(free.size())) == tried.fitted);
      if (tried.fitted > 0) ++welcome;
    }
  }
  CHECK(welcome > 30);
}

}  // namespace nrd::hospitality_score_test
