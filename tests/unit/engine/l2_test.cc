// Ways of L2 caches on nodes that allocate these beside L3: here 2 L3 caches of 8 CPUs, and an L2 for each two CPUs.
#include "engine/model/setting.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::l2_test {

using nrd::testing::error_of;
using nrd::testing::value_of;
namespace {

using testing::a_spec;

CacheId l2(uint32_t id) { return {.level = 2, .value = id}; }

struct Fixture : testing::TransactionFixture {
  explicit Fixture(bool cdp = false) : TransactionFixture({.cpus_per_l2 = 2}) {
    hardware.facts.rdt.levels.at(2).cat->cdp = cdp;
    start();
  }
  static Spec asking(const std::string& cpus, uint32_t ways, uint32_t code = 0) {
    Spec spec = a_spec(cpus);
    spec.cache.reset();
    spec.l2 = L2Request{.ways = ways, .code = code};
    return spec;
  }
  // Ways of an L2 cache, which has 16.
  std::string drawn_l2(unsigned clos, unsigned cache) const {
    return testing::picture(hardware.tree.rdt.classes.at(ClosId{clos}).ways.at(l2(cache)), 16);
  }
};

SpecPatch l2_ways(uint32_t ways) {
  SpecPatch patch;
  patch.l2 = testing::members<L2Request>(R"({"ways":)" + std::to_string(ways) + "}");
  return patch;
}

SpecPatch without_l2() {
  SpecPatch patch;
  patch.l2 = testing::removed<L2Request>();
  return patch;
}

}  // namespace

TEST_CASE("a workload without L2 ways avoids the granted ones") {
  Fixture fixture;
  const auto neighbour = value_of(fixture.create(a_spec("5").ways(2, 2)));
  CHECK(fixture.drawn_l2(2, 2) == "################");
  const auto workload = value_of(fixture.create(Fixture::asking("4", 6)));
  CHECK(fixture.drawn_l2(3, 2) == "..........######");
  CHECK(fixture.drawn_l2(2, 2) == "##########......");
  CHECK(fixture.drawn_l2(0, 2) == "##########......");
  CHECK(is_applied(fixture.state(), fixture.state().workloads.at(neighbour.id)));
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.drawn_l2(2, 2) == "################");
}

TEST_CASE("ways of one L2 cache are granted once") {
  Fixture fixture;
  REQUIRE(fixture.create(Fixture::asking("4", 9)));
  const Error refused = error_of(fixture.create(Fixture::asking("5", 7)));
  CHECK(refused.code == ErrorCode::NotEnough);
  CHECK(refused.field == "/l2/ways");
  CHECK(refused.message.find("L2 cache 2") != std::string::npos);
  CHECK(refused.allowed == "at most 6");
  REQUIRE(fixture.create(Fixture::asking("5", 6)));
  CHECK(fixture.drawn_l2(0, 2) == "#...............");
  CHECK(fixture.drawn_l2(3, 2) == ".######.........");
}

TEST_CASE("a PATCH adds, changes and removes L2 ways") {
  Fixture fixture;
  const auto workload = value_of(fixture.create(a_spec("4").ways(3, 1)));
  const WayMask l3 = workload.grant.ways.at(CacheId{3, 0});
  REQUIRE(fixture.patch(workload.id, l2_ways(3)));
  CHECK(fixture.drawn_l2(2, 2) == ".............###");
  REQUIRE(fixture.patch(workload.id, l2_ways(5)));
  CHECK(fixture.drawn_l2(2, 2) == "...........#####");
  CHECK(fixture.state().workloads.at(workload.id).grant.ways.at(CacheId{3, 0}) == l3);
  REQUIRE(fixture.patch(workload.id, without_l2()));
  CHECK(fixture.drawn_l2(2, 2) == "################");
  SpecPatch without_cache = l2_ways(2);
  without_cache.cache = testing::removed<CacheRequest>();
  const auto l2_only = value_of(fixture.patch(workload.id, without_cache));
  CHECK(l2_only.grant.pool == Pool::Guarantee);
  CHECK(l2_only.grant.ways.size() == 1);
  CHECK(fixture.patch(workload.id, without_l2()).error().field == "/l2");
}

TEST_CASE("best effort resizes on L3 only") {
  Fixture fixture;
  fixture.config.shrink = true;
  fixture.start();
  Spec spec = Fixture::asking("4", 4);
  spec.cache = CacheRequest{3, 1};
  const auto first = value_of(fixture.create(spec));
  const auto second = fixture.create(a_spec("5").ways(2, 2));
  const auto third = fixture.create(a_spec("6").ways(3, 2));
  REQUIRE(second);
  REQUIRE(third);
  CHECK(fixture.state().workloads.at(first.id).grant.ways.at(CacheId{3, 0}).count() == 1);
  CHECK(fixture.drawn_l2(2, 2) == "............####");
  REQUIRE(fixture.remove(third->id));
  CHECK(fixture.state().workloads.at(first.id).grant.ways.at(CacheId{3, 0}).count() == 3);
  CHECK(fixture.drawn_l2(2, 2) == "............####");
}

TEST_CASE("code gets its own L2 ways where L2 has CDP") {
  Fixture fixture(true);
  const auto workload = value_of(fixture.create(Fixture::asking("4", 5, 2)));
  const auto split = fixture.hardware.tree.rdt.split_of(ClosId{2}, l2(2));
  REQUIRE(split);
  CHECK(testing::picture(split->code, 16) == "...........##...");
  CHECK(testing::picture(split->data, 16) == ".............###");
  CHECK(fixture.create(Fixture::asking("8", 5, 5)).error().field == "/l2/code");
  REQUIRE(fixture.patch(workload.id, l2_ways(6)));
  CHECK(fixture.state().workloads.at(workload.id).spec.l2 == L2Request{.ways = 6, .code = 2});
  SpecPatch joined;
  joined.l2 = testing::members<L2Request>(R"({"code": null})");
  REQUIRE(fixture.patch(workload.id, joined));
  CHECK_FALSE(fixture.hardware.tree.rdt.split_of(ClosId{2}, l2(2)));
  joined.l2 = testing::members<L2Request>(R"({"code": 2})");
  REQUIRE(fixture.patch(workload.id, joined));
  fixture.hardware.facts.rdt.levels.at(2).cat->cdp = false;
  fixture.start();
  CHECK(problem_of(fixture.state()).find("cdpl2") != std::string::npos);
  CHECK(fixture.create(Fixture::asking("8", 5, 2)).error().code == ErrorCode::Unsupported);
}

TEST_CASE("impossible L2 requests are refused") {
  Fixture fixture;
  CHECK(fixture.create(Fixture::asking("4", 16)).error().allowed == "1 to 15 ways");
  Spec shared = Fixture::asking("4", 2);
  shared.cache = CacheRequest{0, 0};
  CHECK(fixture.create(shared).error().field == "/l2");
  testing::TransactionFixture without;
  without.start();
  const Error refused = error_of(without.create(Fixture::asking("4", 2)));
  CHECK(refused.code == ErrorCode::Unsupported);
  CHECK(refused.field == "/l2");
}

TEST_CASE("a boot without L2 allocation is reported and affects nothing else") {
  Fixture fixture;
  Spec spec = Fixture::asking("4", 4);
  spec.cache = CacheRequest{2, 2};
  const auto workload = value_of(fixture.create(spec));
  fixture.hardware.reboot("boot-2");
  fixture.hardware.facts.rdt.levels.at(2).cat.reset();
  for (auto& [clos, group] : fixture.hardware.tree.rdt.classes) {
    std::erase_if(group.ways, [](const auto& entry) { return entry.first.level == 2; });
  }
  fixture.start();
  CHECK(fixture.drawn(2, 0) == ".##........");
  CHECK(problem_of(fixture.state()).find("no longer allocates") != std::string::npos);
  CHECK_FALSE(is_applied(fixture.state(), workload));
  REQUIRE(fixture.patch(workload.id, without_l2()));
  CHECK(problem_of(fixture.state()).empty());
}

TEST_CASE("an L2 cache whose CPUs are offline keeps its grant") {
  Fixture fixture;
  const Task task{.id = 7, .process = 7, .start = 7, .boot_id = "boot-1"};
  fixture.hardware.tasks[task] = "";
  Spec spec = Fixture::asking("4,6", 4);
  spec.tasks = {task};
  spec.task_cpus = {4};
  const auto workload = value_of(fixture.create(spec));
  const NodeFacts all = fixture.hardware.facts;
  rdt::Node& node = fixture.hardware.facts.rdt;
  node.online -= CpuSet{6, 7};
  node.levels.at(3).caches.edit().at(CacheId{3, 0}) -= CpuSet{6, 7};
  node.levels.at(2).caches.edit().erase(l2(3));
  fixture.transaction->repair();
  CHECK(is_applied(fixture.state(), fixture.state().workloads.at(workload.id)));
  fixture.hardware.tasks.clear();
  fixture.transaction->reap_tasks();
  CHECK(fixture.state().workloads.at(workload.id).spec.tasks.empty());
  fixture.hardware.facts = all;
  fixture.transaction->repair();
  CHECK(fixture.drawn_l2(2, 3) == "............####");
  CHECK(is_applied(fixture.state(), fixture.state().workloads.at(workload.id)));
  CHECK(fixture.state().health.drift_repairs == 0);
}

TEST_CASE("a request after a CPU went offline is planned for the online CPUs") {
  Fixture fixture;
  const auto workload = value_of(fixture.create(Fixture::asking("4,6", 4)));
  fixture.hardware.facts.rdt.online -= CpuSet{6, 7};
  fixture.hardware.facts.rdt.levels.at(2).caches.edit().erase(l2(3));
  fixture.hardware.fail_at_write = fixture.hardware.writes + 1;
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.state().health.hardware_problem.empty());
  fixture.hardware.facts.rdt.online.remove(CpuId{5});
  fixture.hardware.fail_at_write = fixture.hardware.writes + 1;
  CHECK(fixture.create(Fixture::asking("5", 4)).error().message.find("offline") != std::string::npos);
  CHECK(fixture.state().workloads.empty());
}

TEST_CASE("a task without ways on a cache avoids granted ways") {
  Fixture fixture;
  const Task task{.id = 7, .process = 7, .start = 7, .boot_id = "boot-1"};
  fixture.hardware.tasks[task] = "";
  Spec spec = a_spec("4").ways(2, 2);
  spec.core_ids.clear();
  spec.cpus = {};
  spec.tasks = {task};
  spec.task_cpus = {4};
  REQUIRE(fixture.create(spec));
  CHECK(fixture.drawn(2, 1) == "###########");
  const auto workload = value_of(fixture.create(a_spec("12").ways(3, 3)));
  CHECK(fixture.drawn(2, 1) == fixture.drawn(0, 1));
  CHECK(fixture.drawn(2, 1) == "....#######");
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.drawn(2, 1) == "###########");
}

}  // namespace nrd::l2_test
