// Ways that code has for itself on nodes with CDP.
#include "engine/model/node_state.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd {
namespace {

using testing::a_spec;

struct House : testing::WriterHouse {
  explicit House(bool cdp = true, unsigned min_ways = 1, EngineOptions configured = {})
      : WriterHouse({.min_ways = min_ways}, std::move(configured)) {
    hardware.facts.rdt.cat->cdp = cdp;
    start();
  }
  Result<Workload> create(const std::string& cpus, uint32_t max, uint32_t min, uint32_t code) {
    Spec spec = a_spec(cpus).ways(max, min);
    spec.cache->code = code;
    return WriterHouse::create(spec);
  }
  // Of code, and of data, on cache 0.
  std::vector<std::string> drawn_apart(unsigned clos) const {
    const auto split = hardware.tree.rdt.split_of(ClosId{clos}, CacheId{0});
    if (!split) return {};
    return {testing::picture(split->code, 11), testing::picture(split->data, 11)};
  }
};

using Masks = std::vector<std::string>;

}  // namespace

TEST_CASE("code has the lowest of the ways, data the others, and both go back") {
  House house;
  const Observed before = house.hardware.tree;
  const auto workload = house.create("4", 4, 4, 1);
  REQUIRE(workload);
  CHECK(house.drawn(2, 0) == ".####......");
  CHECK(house.drawn_apart(2) == Masks{".#.........", "..###......"});
  CHECK(is_applied(house.state(), *workload));
  house.start();
  CHECK(house.state().workloads.at(workload->id) == *workload);
  CHECK(house.drawn_apart(2) == Masks{".#.........", "..###......"});
  REQUIRE(house.remove(workload->id));
  CHECK(house.hardware.tree == before);
}

TEST_CASE("a PATCH sets code and data apart and joins them again") {
  House house;
  const auto workload = house.create("4", 4, 4, 0);
  REQUIRE(workload);
  CHECK(house.drawn_apart(2).empty());
  SpecPatch apart;
  apart.code = 3;
  REQUIRE(house.patch(workload->id, apart));
  CHECK(house.drawn_apart(2) == Masks{".###.......", "....#......"});
  SpecPatch smaller;
  smaller.max = smaller.min = 3;
  CHECK(house.patch(workload->id, smaller).error().field == "/cache/code");
  SpecPatch joined;
  joined.code = 0;
  REQUIRE(house.patch(workload->id, joined));
  CHECK(house.drawn_apart(2).empty());
  CHECK(house.drawn(2, 0) == ".####......");
}

TEST_CASE("code keeps its ways where best effort gives way") {
  House house(true, 1, {.shrink = true});
  const auto workload = house.create("4", 3, 2, 1);
  REQUIRE(workload);
  const unsigned had = workload->grant.ways.at(CacheId{0}).count();
  REQUIRE(house.create("5", 2, 1, 0));
  const WayMask now = house.state().workloads.at(workload->id).grant.ways.at(CacheId{0});
  REQUIRE(now.count() < had);
  const auto split = house.hardware.tree.rdt.split_of(workload->grant.clos, CacheId{0});
  REQUIRE(split);
  CHECK(split->code.count() == 1);
  CHECK((split->code | split->data) == now);
  CHECK_FALSE(split->code.intersects(split->data));
}

TEST_CASE("what cannot be set apart is refused with what can be") {
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
    House house(row.cdp, row.min_ways);
    const Observed before = house.hardware.tree;
    const auto refused = house.create("4", row.max, row.min, row.code);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == row.error);
    CHECK(refused.error().field == "/cache/code");
    CHECK(refused.error().allowed == row.allowed);
    CHECK(house.hardware.tree == before);
  }
}

TEST_CASE("what others join or move is drift, and is set apart again") {
  House house;
  REQUIRE(house.create("4", 4, 4, 1));
  auto& group = house.hardware.tree.rdt.classes.at(ClosId{2});
  for (const std::map<CacheId, rdt::Split>& others :
       {std::map<CacheId, rdt::Split>{}, {{CacheId{0}, {.code = WayMask(0x1c), .data = WayMask(0x2)}}}}) {
    group.split = others;
    const uint64_t repairs = house.state().health.drift_repairs;
    house.writer->repair();
    CHECK(house.state().health.drift_repairs == repairs + 1);
    CHECK(house.drawn_apart(2) == Masks{".#.........", "..###......"});
  }
}

TEST_CASE("mounted without CDP since, code and data share and the problem is told") {
  House house;
  const auto workload = house.create("4", 4, 4, 1);
  REQUIRE(workload);
  house.hardware.reboot("boot-2");
  house.start();
  CHECK(house.drawn(2, 0) == ".####......");
  CHECK(house.drawn_apart(2).empty());
  CHECK_FALSE(is_applied(house.state(), *workload));
  CHECK(problem_of(house.state()).starts_with("code and data of workload 1 were granted ways apart"));
  house.hardware.facts.rdt.cat->cdp = true;
  house.writer->repair();
  CHECK(problem_of(house.state()).empty());
  CHECK(is_applied(house.state(), *workload));
}

}  // namespace nrd
