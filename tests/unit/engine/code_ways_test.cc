// Ways that code has for itself on nodes with CDP.
#include "engine/model/node_state.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::code_ways_test {

using nrd::testing::error_of;
using nrd::testing::value_of;
namespace {

using testing::a_spec;

struct Fixture : testing::TransactionFixture {
  explicit Fixture(bool cdp = true, unsigned min_ways = 1, NodeConfig configured = {})
      : TransactionFixture({.min_ways = min_ways}, std::move(configured)) {
    hardware.facts.rdt.levels.at(3).cat->cdp = cdp;
    start();
  }
  Result<Workload> create(const std::string& cpus, uint32_t max, uint32_t min, uint32_t code) {
    Spec spec = a_spec(cpus).ways(max, min);
    spec.cache->code = code;
    return TransactionFixture::create(spec);
  }
  // Of code, and of data, on cache 0.
  std::vector<std::string> drawn_apart(unsigned clos) const {
    const auto split = hardware.tree.rdt.split_of(ClosId{clos}, CacheId{3, 0});
    if (!split) return {};
    return {testing::picture(split->code, 11), testing::picture(split->data, 11)};
  }
};

using Masks = std::vector<std::string>;

}  // namespace

TEST_CASE("a PATCH separates code and data and joins them again") {
  Fixture fixture;
  const auto workload = value_of(fixture.create("4", 4, 4, 0));
  CHECK(fixture.drawn_apart(2).empty());
  SpecPatch apart;
  apart.cache = testing::members<CacheRequest>(R"({"code": 3})");
  REQUIRE(fixture.patch(workload.id, apart));
  CHECK(fixture.drawn_apart(2) == Masks{".###.......", "....#......"});
  SpecPatch smaller;
  smaller.cache = testing::max_and_min(3, 3);
  CHECK(fixture.patch(workload.id, smaller).error().field == "/cache/code");
  SpecPatch joined;
  joined.cache = testing::members<CacheRequest>(R"({"code": 0})");
  REQUIRE(fixture.patch(workload.id, joined));
  CHECK(fixture.drawn_apart(2).empty());
  CHECK(fixture.drawn(2, 0) == ".####......");
}

TEST_CASE("code keeps its ways when best effort shrinks") {
  Fixture fixture(true, 1, {.shrink = true});
  const auto workload = value_of(fixture.create("4", 3, 2, 1));
  const unsigned had = workload.grant.ways.at(CacheId{3, 0}).count();
  REQUIRE(fixture.create("5", 2, 1, 0));
  const WayMask now = fixture.state().workloads.at(workload.id).grant.ways.at(CacheId{3, 0});
  REQUIRE(now.count() < had);
  const auto split = fixture.hardware.tree.rdt.split_of(workload.grant.clos, CacheId{3, 0});
  REQUIRE(split);
  CHECK(split->code.count() == 1);
  CHECK((split->code | split->data) == now);
  CHECK_FALSE(split->code.intersects(split->data));
}

TEST_CASE("an invalid split of code and data is refused with the valid range") {
  struct Row {
    bool cdp;
    unsigned min_ways;
    uint32_t max, min, code;
    ErrorCode error;
    const char* allowed;
  };
  for (const Row& row : {Row{false, 1, 4, 4, 1, ErrorCode::Unsupported, ""},
                         Row{true, 1, 4, 4, 4, ErrorCode::BadRequest, "0 or 1 to 3 ways"},
                         Row{true, 2, 4, 4, 1, ErrorCode::BadRequest, "0 or 2 to 2 ways"},
                         Row{true, 2, 4, 3, 2, ErrorCode::BadRequest, "0, or 4 or more for min"},
                         Row{true, 1, 1, 1, 1, ErrorCode::BadRequest, "0, or 2 or more for min"},
                         Row{true, 1, 0, 0, 1, ErrorCode::BadRequest, "0, or 2 or more for min"}}) {
    INFO(row.cdp << " " << row.max << "/" << row.min << " code " << row.code);
    Fixture fixture(row.cdp, row.min_ways);
    const Observed before = fixture.hardware.tree;
    const Error refused = error_of(fixture.create("4", row.max, row.min, row.code));
    CHECK(refused.code == row.error);
    CHECK(refused.field == "/cache/code");
    CHECK(refused.allowed == row.allowed);
    CHECK(fixture.hardware.tree == before);
  }
}

TEST_CASE("drift of the code and data masks is repaired") {
  Fixture fixture;
  REQUIRE(fixture.create("4", 4, 4, 1));
  auto& group = fixture.hardware.tree.rdt.classes.at(ClosId{2});
  for (const std::map<CacheId, rdt::Split>& others :
       {std::map<CacheId, rdt::Split>{}, {{CacheId{3, 0}, {.code = WayMask(0x1c), .data = WayMask(0x2)}}}}) {
    group.split = others;
    const uint64_t repairs = fixture.state().health.drift_repairs;
    fixture.transaction->repair();
    CHECK(fixture.state().health.drift_repairs == repairs + 1);
    CHECK(fixture.drawn_apart(2) == Masks{".#.........", "..###......"});
  }
}

TEST_CASE("after a remount without CDP code and data share and health reports it") {
  Fixture fixture;
  const auto workload = value_of(fixture.create("4", 4, 4, 1));
  fixture.hardware.reboot("boot-2");
  fixture.start();
  CHECK(fixture.drawn(2, 0) == ".####......");
  CHECK(fixture.drawn_apart(2).empty());
  CHECK_FALSE(is_applied(fixture.state(), workload));
  CHECK(problem_of(fixture.state()).starts_with("code and data of workload 1 were granted separate ways"));
  fixture.hardware.facts.rdt.levels.at(3).cat->cdp = true;
  fixture.transaction->repair();
  CHECK(problem_of(fixture.state()).empty());
  CHECK(is_applied(fixture.state(), workload));
}

}  // namespace nrd::code_ways_test
