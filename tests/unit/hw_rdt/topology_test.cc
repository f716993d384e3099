#include "hw/rdt/topology.h"

#include <doctest/doctest.h>

#include <ostream>

#include "tests/unit/hw_pstate/tree.h"

namespace nrd::rdt::topology_test {
namespace {

using testing::Tree;

// Two CPUs that share an L3 of 11 MiB with id 4, each with an L2 of its own.
struct TwoCpus : Tree {
  TwoCpus() {
    put("sys/devices/system/cpu/possible", "0-3\n");
    put("sys/devices/system/cpu/isolated", "1\n");
    online("0-1");
    for (const uint32_t number : {0U, 1U}) {
      put(cache(number, 0, "level"), "1\n");
      put(cache(number, 1, "level"), "1\n");
      put(cache(number, 2, "level"), "2\n");
      put(cache(number, 2, "id"), std::to_string(number + 8) + "\n");
      put(cache(number, 2, "shared_cpu_list"), std::to_string(number) + "\n");
      put(cache(number, 3, "level"), "3\n");
      put(cache(number, 3, "id"), "4\n");
      put(cache(number, 3, "shared_cpu_list"), "0-1\n");
      put(cache(number, 3, "size"), "11264K\n");
      put(cache(number, 3, "ways_of_associativity"), "11\n");
      put(cache(number, 3, "number_of_sets"), "16384\n");
      put(cache(number, 3, "coherency_line_size"), "64\n");
      put(cache(number, 3, "physical_line_partition"), "1\n");
      put(cpu(number, "topology/physical_package_id"), "2\n");
      put(cpu(number, "node7/cpulist"), "0-1\n");
    }
  }
  static std::string cache(uint32_t number, uint32_t index, const std::string& file) {
    return cpu(number, "cache/index" + std::to_string(index) + "/" + file);
  }
};

constexpr CacheId kL3{3, 4};

}  // namespace

TEST_CASE("an L3 cache is read with its CPUs, socket and geometry") {
  const TwoCpus tree;
  const Result<Node> node = read_topology(tree.root());
  REQUIRE(node.has_value());
  Node expected;
  expected.possible = CpuSet::first(4);
  expected.online = CpuSet::first(2);
  expected.isolated = CpuSet{1};
  expected.levels[3].caches = {{kL3, CpuSet{0, 1}}};
  expected.sockets = {{kL3, 2}};
  expected.numa_nodes = {{kL3, {7}}};
  expected.geometry = {
      {kL3, {.ways = 11, .sets = 16384, .partitions = 1, .line_bytes = 64, .bytes = uint64_t{11} << 20}}};
  CHECK(*node == expected);
}

TEST_CASE("values of truncated files are ignored") {
  TwoCpus tree;
  for (const char* text : {"", "11", "11K\n", "-1\n", "\n"}) {
    INFO("ways_of_associativity \"" << text << "\"");
    tree.put(TwoCpus::cache(0, 3, "ways_of_associativity"), text);
    CHECK(read_topology(tree.root())->geometry.at(kL3).ways == 0);
  }
  for (const char* text : {"", "11264", "11264\n", "11264K", "K\n", "11M\n"}) {
    INFO("size \"" << text << "\"");
    tree.put(TwoCpus::cache(0, 3, "size"), text);
    CHECK(read_topology(tree.root())->geometry.at(kL3).bytes == 0);
  }
  tree.remove(TwoCpus::cache(0, 3, "size"));
  tree.remove(TwoCpus::cache(0, 3, "physical_line_partition"));
  for (const uint32_t cpu : {0U, 1U}) tree.remove(TwoCpus::cpu(cpu, "node7"));
  const Result<Node> node = read_topology(tree.root());
  CHECK(node->geometry.at(kL3) == Geometry{.ways = 0, .sets = 16384, .partitions = 0, .line_bytes = 64, .bytes = 0});
  CHECK(node->numa_nodes.empty());
}

TEST_CASE("a cache with a truncated id is ignored") {
  TwoCpus tree;
  for (const char* text : {"", "4", "x\n"}) {
    tree.put(TwoCpus::cache(0, 3, "id"), text);
    tree.put(TwoCpus::cache(1, 3, "id"), text);
    CHECK(read_topology(tree.root())->main().caches.empty());
  }
  // CPU 0 went offline while it was read, CPU 1 decides for both.
  tree.remove(TwoCpus::cpu(0, "cache"));
  tree.put(TwoCpus::cache(1, 3, "id"), "4\n");
  CHECK(read_topology(tree.root())->main().caches == std::map<CacheId, CpuSet>{{kL3, CpuSet{0, 1}}});
}

TEST_CASE("a truncated CPU list is an error and a missing one is empty") {
  TwoCpus tree;
  tree.remove("sys/devices/system/cpu/isolated");
  CHECK(read_topology(tree.root())->isolated.empty());
  for (const char* text : {"", "0-1", "0-", "a\n"}) {
    INFO("online \"" << text << "\"");
    tree.put("sys/devices/system/cpu/online", text);
    CHECK_FALSE(read_topology(tree.root()).has_value());
  }
}

std::set<CacheId> l2_ids(const TwoCpus& tree, const CpuSet& online) {
  std::set<CacheId> ids;
  const Node found = read_caches(2, online, Details::IdsAndCpus, tree.root());
  for (const auto& [id, cpus] : found.level_of(2).caches) ids.insert(id);
  return ids;
}

CacheId l2(uint32_t id) { return {.level = 2, .value = id}; }

TEST_CASE("L2 caches are identified by their ids, at any index") {
  TwoCpus tree;
  CHECK(l2_ids(tree, {0, 1}) == std::set{l2(8), l2(9)});
  tree.put(TwoCpus::cache(0, 2, "shared_cpu_list"), "0-1\n");
  CHECK(l2_ids(tree, {0, 1}) == std::set{l2(8)});
  tree.put(TwoCpus::cache(0, 1, "level"), "2\n");
  tree.put(TwoCpus::cache(0, 1, "id"), "5\n");
  tree.put(TwoCpus::cache(0, 1, "shared_cpu_list"), "0\n");
  tree.put(TwoCpus::cache(0, 2, "level"), "4\n");
  CHECK(l2_ids(tree, {0, 1}) == std::set{l2(5), l2(9)});
  tree.put(TwoCpus::cache(1, 2, "id"), "9");
  CHECK(l2_ids(tree, {1}).empty());
  CHECK(l2_ids(tree, {2}).empty());
}

TEST_CASE("all of an L2 cache is read where its ways can be set") {
  TwoCpus tree;
  tree.put(TwoCpus::cache(0, 2, "shared_cpu_list"), "0-1\n");
  tree.put(TwoCpus::cache(0, 2, "ways_of_associativity"), "16\n");
  const Node few = read_caches(2, {0, 1}, Details::IdsAndCpus, tree.root());
  CHECK(few.level_of(2).caches == std::map<CacheId, CpuSet>{{l2(8), CpuSet{0, 1}}});
  CHECK(few.geometry.empty());
  const Node all = read_caches(2, {0, 1}, Details::All, tree.root());
  CHECK(all.levels == few.levels);
  CHECK(all.geometry.at(l2(8)).ways == 16);
  CHECK(all.sockets.contains(l2(8)));
}

TEST_CASE("a cache is on all NUMA nodes of its CPUs") {
  TwoCpus tree;
  tree.put(TwoCpus::cpu(0, "node7/cpulist"), "0,2\n");
  tree.remove(TwoCpus::cpu(1, "node7"));
  tree.put(TwoCpus::cpu(1, "node9/cpulist"), "1\n");
  CHECK(read_topology(tree.root())->numa_nodes.at(kL3) == std::set<uint32_t>{7, 9});
}

TEST_CASE("cores are listed if several threads are online") {
  TwoCpus tree;
  CHECK(read_cores(CpuSet{0, 1}, tree.root()).empty());
  for (const uint32_t cpu : {0U, 1U}) tree.put(TwoCpus::cpu(cpu, "topology/thread_siblings_list"), "0-1\n");
  CHECK(read_cores(CpuSet{0, 1}, tree.root()) == std::vector{CpuSet{0, 1}});
  CHECK(read_cores(CpuSet{0}, tree.root()).empty());
}

}  // namespace nrd::rdt::topology_test
