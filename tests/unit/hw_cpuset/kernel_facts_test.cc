#include "hw/cpuset/kernel_facts.h"

#include <doctest/doctest.h>

#include "tests/unit/hw_cpuset/tree.h"

namespace nrd::kernel_facts_test {

using nrd::testing::Tree;

TEST_CASE("CPUs without tick") {
  Tree tree;
  CHECK(cpuset::read_nohz_full(tree.root()).empty());
  for (const auto& [text, cpus] : {std::pair{"4-5\n", "4-5"}, std::pair{"(null)\n", ""}, std::pair{"\n", ""},
                                   std::pair{"", ""}, std::pair{"4-", ""}}) {
    tree.put("sys/devices/system/cpu/nohz_full", text);
    CHECK(cpuset::read_nohz_full(tree.root()).to_string() == cpus);
  }
}

TEST_CASE("hybrid CPUs have kinds of cores, others have none") {
  Tree tree;
  CHECK(cpuset::read_core_kinds(tree.root()).empty());
  tree.put("sys/devices/cpu_core/cpus", "0-3\n");
  tree.put("sys/devices/cpu_atom/cpus", "4-7\n");
  CHECK(cpuset::read_core_kinds(tree.root()) ==
        cpuset::CoreKinds{{"atom", CpuSet{4, 5, 6, 7}}, {"core", CpuSet{0, 1, 2, 3}}});
  tree.put("sys/devices/cpu_atom/cpus", "");
  CHECK(cpuset::read_core_kinds(tree.root()).size() == 1);
}

TEST_CASE("free huge pages by node and size") {
  Tree tree;
  CHECK(cpuset::read_free_huge_pages(tree.root()).empty());
  tree.put("sys/devices/system/node/online", "0-1\n");
  tree.put("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "512\n");
  tree.put("sys/devices/system/node/node0/hugepages/hugepages-1048576kB/free_hugepages", "0\n");
  tree.put("sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "\n");
  tree.put("sys/devices/system/node/node1/hugepages/other/free_hugepages", "3\n");
  tree.put("sys/devices/system/node/node2/cpulist", "4\n");
  CHECK(cpuset::read_free_huge_pages(tree.root()) ==
        cpuset::FreeHugePages{{{.node = 0, .bytes = 2U << 20}, 512}, {{.node = 0, .bytes = 1U << 30}, 0}});
}

}  // namespace nrd::kernel_facts_test
