#include "engine/plan/cpus/zones.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/engine_plan_cpus/machines.h"

namespace nrd::zones_test {

using cpuset::Level;
using nrd::testing::cpus_of;
using nrd::testing::Machine;
using plan::ZoneTree;

namespace {

using Zones = std::vector<cpuset::Zone>;

// Each zone above the cores as "name: CPUs", parents first.
std::vector<std::string> drawn(const ZoneTree& tree) {
  std::vector<std::string> lines;
  for (plan::ZoneIndex i = 0; i < tree.zones().size(); ++i) {
    if (tree.zones()[i].finest == Level::Core && i != 0) continue;
    lines.push_back(plan::short_text_of(tree, i, tree.zones()[i].level) + ": " + tree.cpus_of(i).to_string());
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("zones that add nothing are other names of the zone above") {
  const ZoneTree tree(Machine{.packages = 2, .l3s = 1, .cores = 2}.zones(), CpuSet::first(8));
  CHECK(drawn(tree) == Lines{"machine: 0-7", "package 0: 0-1,4-5", "package 1: 2-3,6-7"});
  CHECK(plan::text_of(tree, tree.smallest_with({0, 1})) == "node 0, l3 0");
  CHECK(plan::short_text_of(tree, tree.smallest_with({0, 1}), Level::Node) == "node 0");
  CHECK(plan::text_of(tree, tree.smallest_with({1, 5})) == "node 0, l3 0, core 1");
  CHECK(plan::text_of(tree, tree.smallest_with({1, 2})) == "machine");
}

TEST_CASE("zones without online CPUs are left out") {
  const Zones zones{{Level::Node, 0, {0, 1}}, {Level::Node, 1, {2, 3}}, {Level::Node, 2, {4, 5}}, {Level::Node, 3, {}}};
  CHECK(drawn(ZoneTree(zones, {0, 1, 2})) == Lines{"machine: 0-2", "node 0: 0-1"});
  CHECK(ZoneTree(zones, {}).size() == 0);
}

TEST_CASE("zones that do not nest are left out") {
  // Sub-NUMA clusters: the L3 of the package is larger than a node.
  CHECK(drawn(ZoneTree({{Level::Package, 0, {0, 1, 2, 3}},
                        {Level::Package, 1, {4, 5, 6, 7}},
                        {Level::Node, 0, {0, 1}},
                        {Level::Node, 1, {2, 3}},
                        {Level::L3, 0, {0, 1, 2, 3}}},
                       CpuSet::first(8))) ==
        Lines{"machine: 0-7", "package 0: 0-3", "node 0: 0-1", "node 1: 2-3", "package 1: 4-7"});
  // Of two that overlap on a level, the one with the lowest CPU stays.
  CHECK(drawn(ZoneTree({{Level::L3, 1, {1, 2}}, {Level::L3, 0, {0, 1}}}, CpuSet::first(4))) ==
        Lines{"machine: 0-3", "l3 0: 0-1", "the rest of machine: 2-3"});
}

TEST_CASE("threads of a core stay together, whatever their nodes") {
  const ZoneTree tree({{Level::Node, 0, {0, 1}}, {Level::Node, 1, {2, 3}}, {Level::Core, 0, {1, 2}}}, CpuSet::first(4));
  CHECK(drawn(tree) == Lines{"machine: 0-3"});
  CHECK(tree.core_of(CpuId{2}) == CpuSet{1, 2});
  CHECK(tree.core_of(CpuId{3}) == CpuSet{3});
  CHECK(tree.core_of(CpuId{4}).empty());
}

TEST_CASE("CPUs in no zone of a level form one without a number") {
  const ZoneTree tree({{Level::Node, 0, {0, 1, 2, 3, 4, 5}}, {Level::L3, 0, {0, 1}}, {Level::L3, 1, {2, 3}}},
                      CpuSet::first(6));
  CHECK(drawn(tree) == Lines{"machine: 0-5", "l3 0: 0-1", "l3 1: 2-3", "the rest of node 0: 4-5"});
  CHECK(tree.zone_at(*tree.position_of(CpuId{5}), Level::L3) == tree.smallest_with({4, 5}));
}

TEST_CASE("the zone of a level that a machine lacks is the next coarser one") {
  const ZoneTree tree({{Level::Package, 0, {0, 1}}, {Level::Package, 1, {2, 3}}}, CpuSet::first(4));
  const plan::ZoneIndex package = tree.smallest_with({2, 3});
  CHECK(tree.zone_at(*tree.position_of(CpuId{3}), Level::L3) == package);
  CHECK(tree.stays_within(package, Level::L3));
  CHECK_FALSE(tree.stays_within(0, Level::L3));
  CHECK(tree.stays_within(0, Level::Machine));
}

TEST_CASE("CPU numbers are numbers, up to the last") {
  const ZoneTree tree({{Level::Node, 0, cpus_of("9,100,8191")}, {Level::Node, 1, cpus_of("10,1000")}},
                      cpus_of("9-10,100,1000,8191"));
  CHECK(drawn(tree) == Lines{"machine: 9-10,100,1000,8191", "node 0: 9,100,8191", "node 1: 10,1000"});
  CHECK(tree.cpu_at(0) == CpuId{9});
  CHECK(tree.cpu_at(2) == CpuId{8191});
}

TEST_CASE("a machine of 8192 cores below one zone") {
  const Machine machine{.packages = 1, .l3s = 1, .cores = 8192, .threads = 1};
  Zones zones = machine.zones();
  const ZoneTree tree(zones, machine.cpus());
  CHECK(tree.zones().size() == 8193);
  std::reverse(zones.begin(), zones.end());
  CHECK(ZoneTree(zones, machine.cpus()).zones() == tree.zones());
}

}  // namespace nrd::zones_test
