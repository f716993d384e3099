// Ways of L2 caches on nodes that allocate these beside L3: here 2 L3 caches of 8 CPUs, and an L2 for each two CPUs.
#include "engine/model/setting.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd {
namespace {

using testing::a_spec;

CacheId l2(uint32_t id) { return {.value = id, .is_l2_beside = true}; }

struct House : testing::WriterHouse {
  explicit House(bool cdp = false) : WriterHouse({.cpus_per_l2 = 2}) {
    hardware.facts.rdt.l2_cat->cdp = cdp;
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
  patch.l2_ways = ways;
  return patch;
}

SpecPatch without_l2() {
  SpecPatch patch;
  patch.without_l2 = true;
  return patch;
}

}  // namespace

TEST_CASE("ways of L2 are had beside those of L3, are kept, and go back") {
  House house;
  const Observed before = house.hardware.tree;
  Spec spec = House::asking("4-5,7", 4);
  spec.cache = CacheRequest{2, 2};
  const auto workload = house.create(spec);
  REQUIRE(workload);
  CHECK(workload->grant.pool == Pool::Guarantee);
  CHECK(workload->grant.ways.size() == 3);
  CHECK(house.drawn(2, 0) == ".##........");
  CHECK(house.drawn_l2(2, 2) == "............####");
  CHECK(house.drawn_l2(2, 3) == "............####");
  CHECK(house.drawn_l2(2, 1) == "################");
  CHECK(house.drawn_l2(0, 2) == "############....");
  CHECK(house.drawn_l2(0, 1) == "################");
  CHECK(is_applied(house.state(), *workload));
  house.start();
  CHECK(house.state().workloads.at(workload->id) == *workload);
  CHECK(house.drawn_l2(2, 2) == "............####");
  REQUIRE(house.remove(workload->id));
  CHECK(house.hardware.tree == before);
}

TEST_CASE("who asks for L2 alone has a class, and keeps off the L3 ways of others") {
  House house;
  REQUIRE(house.create(a_spec("4").ways(2, 2)));
  const auto workload = house.create(House::asking("6", 4));
  REQUIRE(workload);
  CHECK(workload->grant.pool == Pool::Guarantee);
  CHECK_FALSE(workload->spec.cache);
  CHECK(house.cpus(3) == "6");
  CHECK(house.drawn_l2(3, 3) == "............####");
  CHECK(house.drawn(3, 0) == house.drawn(0, 0));
  CHECK(house.drawn(3, 0) == "...########");
  house.start();
  CHECK(house.state().workloads.at(workload->id) == *workload);
}

TEST_CASE("who shares an L2 cache without having ways of it keeps off those of others") {
  House house;
  const auto neighbour = house.create(a_spec("5").ways(2, 2));
  REQUIRE(neighbour);
  CHECK(house.drawn_l2(2, 2) == "################");
  const auto workload = house.create(House::asking("4", 6));
  REQUIRE(workload);
  CHECK(house.drawn_l2(3, 2) == "..........######");
  CHECK(house.drawn_l2(2, 2) == "##########......");
  CHECK(house.drawn_l2(0, 2) == "##########......");
  CHECK(is_applied(house.state(), house.state().workloads.at(neighbour->id)));
  REQUIRE(house.remove(workload->id));
  CHECK(house.drawn_l2(2, 2) == "################");
}

TEST_CASE("ways of one L2 cache are granted once") {
  House house;
  REQUIRE(house.create(House::asking("4", 9)));
  const auto refused = house.create(House::asking("5", 7));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::NotEnough);
  CHECK(refused.error().field == "/l2/ways");
  CHECK(refused.error().message.find("L2 cache 2") != std::string::npos);
  CHECK(refused.error().allowed == "at most 6");
  REQUIRE(house.create(House::asking("5", 6)));
  CHECK(house.drawn_l2(0, 2) == "#...............");
  CHECK(house.drawn_l2(3, 2) == ".######.........");
}

TEST_CASE("a PATCH gives ways of L2, changes and takes them") {
  House house;
  const auto workload = house.create(a_spec("4").ways(3, 1));
  REQUIRE(workload);
  const WayMask l3 = workload->grant.ways.at(CacheId{0});
  REQUIRE(house.patch(workload->id, l2_ways(3)));
  CHECK(house.drawn_l2(2, 2) == ".............###");
  REQUIRE(house.patch(workload->id, l2_ways(5)));
  CHECK(house.drawn_l2(2, 2) == "...........#####");
  CHECK(house.state().workloads.at(workload->id).grant.ways.at(CacheId{0}) == l3);
  REQUIRE(house.patch(workload->id, without_l2()));
  CHECK(house.drawn_l2(2, 2) == "################");
  SpecPatch without_cache;
  without_cache.without_cache = true;
  without_cache.l2_ways = 2;
  const auto l2_only = house.patch(workload->id, without_cache);
  REQUIRE(l2_only);
  CHECK(l2_only->grant.pool == Pool::Guarantee);
  CHECK(l2_only->grant.ways.size() == 1);
  CHECK(house.patch(workload->id, without_l2()).error().field == "/l2");
}

TEST_CASE("best effort grows and shrinks on L3 and leaves L2 as it was granted") {
  House house;
  house.options.shrink = true;
  house.start();
  Spec spec = House::asking("4", 4);
  spec.cache = CacheRequest{3, 1};
  const auto first = house.create(spec);
  REQUIRE(first);
  const auto second = house.create(a_spec("5").ways(2, 2));
  const auto third = house.create(a_spec("6").ways(3, 2));
  REQUIRE(second);
  REQUIRE(third);
  CHECK(house.state().workloads.at(first->id).grant.ways.at(CacheId{0}).count() == 1);
  CHECK(house.drawn_l2(2, 2) == "............####");
  REQUIRE(house.remove(third->id));
  CHECK(house.state().workloads.at(first->id).grant.ways.at(CacheId{0}).count() == 3);
  CHECK(house.drawn_l2(2, 2) == "............####");
}

TEST_CASE("of ways of L2 code has some alone where the level is split") {
  House house(true);
  const auto workload = house.create(House::asking("4", 5, 2));
  REQUIRE(workload);
  const auto split = house.hardware.tree.rdt.split_of(ClosId{2}, l2(2));
  REQUIRE(split);
  CHECK(testing::picture(split->code, 16) == "...........##...");
  CHECK(testing::picture(split->data, 16) == ".............###");
  CHECK(house.create(House::asking("8", 5, 5)).error().field == "/l2/code");
  REQUIRE(house.patch(workload->id, l2_ways(6)));
  CHECK(house.state().workloads.at(workload->id).spec.l2 == L2Request{.ways = 6, .code = 2});
  SpecPatch joined;
  joined.l2_code = 0;
  REQUIRE(house.patch(workload->id, joined));
  CHECK_FALSE(house.hardware.tree.rdt.split_of(ClosId{2}, l2(2)));
  joined.l2_code = 2;
  REQUIRE(house.patch(workload->id, joined));
  house.hardware.facts.rdt.l2_cat->cdp = false;
  house.start();
  CHECK(problem_of(house.state()).find("cdpl2") != std::string::npos);
  CHECK(house.create(House::asking("8", 5, 2)).error().code == ErrorCode::Unsupported);
}

TEST_CASE("ways of L2 that cannot be had are refused") {
  House house;
  CHECK(house.create(House::asking("4", 16)).error().allowed == "1 to 15 ways");
  Spec shared = House::asking("4", 2);
  shared.cache = CacheRequest{0, 0};
  CHECK(house.create(shared).error().field == "/l2");
  testing::WriterHouse without;
  without.start();
  const auto refused = without.create(House::asking("4", 2));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Unsupported);
  CHECK(refused.error().field == "/l2");
}

TEST_CASE("a boot without L2 allocation is told, and harms nothing else") {
  House house;
  Spec spec = House::asking("4", 4);
  spec.cache = CacheRequest{2, 2};
  const auto workload = house.create(spec);
  REQUIRE(workload);
  house.hardware.reboot("boot-2");
  house.hardware.facts.rdt.l2_cat.reset();
  for (auto& [clos, group] : house.hardware.tree.rdt.classes) {
    std::erase_if(group.ways, [](const auto& entry) { return entry.first.is_l2_beside; });
  }
  house.start();
  CHECK(house.drawn(2, 0) == ".##........");
  CHECK(problem_of(house.state()).find("does not allocate") != std::string::npos);
  CHECK_FALSE(is_applied(house.state(), *workload));
  REQUIRE(house.patch(workload->id, without_l2()));
  CHECK(problem_of(house.state()).empty());
}

TEST_CASE("an L2 cache whose CPUs are offline keeps its grant") {
  House house;
  const Task task{.id = 7, .process = 7, .start = 7, .boot_id = "boot-1"};
  house.hardware.tasks[task] = "";
  Spec spec = House::asking("4,6", 4);
  spec.tasks = {task};
  spec.task_cpus = {4};
  const auto workload = house.create(spec);
  REQUIRE(workload);
  const NodeFacts all = house.hardware.facts;
  rdt::Node& node = house.hardware.facts.rdt;
  node.online -= CpuSet{6, 7};
  node.caches.edit().at(CacheId{0}) -= CpuSet{6, 7};
  node.l2.edit().erase(l2(3));
  house.writer->repair();
  CHECK(is_applied(house.state(), house.state().workloads.at(workload->id)));
  house.hardware.tasks.clear();
  house.writer->reap_tasks();
  CHECK(house.state().workloads.at(workload->id).spec.tasks.empty());
  house.hardware.facts = all;
  house.writer->repair();
  CHECK(house.drawn_l2(2, 3) == "............####");
  CHECK(is_applied(house.state(), house.state().workloads.at(workload->id)));
  CHECK(house.state().health.drift_repairs == 0);
}

TEST_CASE("a request after a CPU went is planned for those that there are") {
  House house;
  const auto workload = house.create(House::asking("4,6", 4));
  REQUIRE(workload);
  house.hardware.facts.rdt.online -= CpuSet{6, 7};
  house.hardware.facts.rdt.l2.edit().erase(l2(3));
  house.hardware.fail_at_write = house.hardware.writes + 1;
  REQUIRE(house.remove(workload->id));
  CHECK(house.state().health.hardware_problem.empty());
  house.hardware.facts.rdt.online.remove(CpuId{5});
  house.hardware.fail_at_write = house.hardware.writes + 1;
  CHECK(house.create(House::asking("5", 4)).error().message.find("offline") != std::string::npos);
  CHECK(house.state().workloads.empty());
}

TEST_CASE("a task without ways on a cache keeps off those of others there") {
  House house;
  const Task task{.id = 7, .process = 7, .start = 7, .boot_id = "boot-1"};
  house.hardware.tasks[task] = "";
  Spec spec = a_spec("4").ways(2, 2);
  spec.core_ids.clear();
  spec.cpus = {};
  spec.tasks = {task};
  spec.task_cpus = {4};
  REQUIRE(house.create(spec));
  CHECK(house.drawn(2, 1) == "###########");
  const auto workload = house.create(a_spec("12").ways(3, 3));
  REQUIRE(workload);
  CHECK(house.drawn(2, 1) == house.drawn(0, 1));
  CHECK(house.drawn(2, 1) == "....#######");
  REQUIRE(house.remove(workload->id));
  CHECK(house.drawn(2, 1) == "###########");
}

}  // namespace nrd
