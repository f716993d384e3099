// What is not read again, because the kernel interrupts a CPU to read it.
#include <doctest/doctest.h>

#include "hw/pstate/pstate.h"
#include "tests/unit/hw_pstate/tree.h"

namespace nrd::pstate::interrupts_test {

using nrd::testing::Tree;

TEST_CASE("the base frequency is read once, and again with other limits, another driver or a CPU that was away") {
  Tree tree;
  tree.online("0");
  tree.intel(0);
  Pstate pstate(tree.root());
  const auto base = [&pstate] { return pstate.discover().value().cpus.at(CpuId{0}).base; };
  CHECK(base() == KHz{2200000});
  tree.put(Tree::cpufreq(0, "base_frequency"), "2000000\n");
  CHECK(base() == KHz{2200000});
  SUBCASE("limits") { tree.put(Tree::cpufreq(0, "cpuinfo_max_freq"), "3400000\n"); }
  SUBCASE("driver") { tree.put(Tree::cpufreq(0, "scaling_driver"), "intel_cpufreq\n"); }
  SUBCASE("away") {
    tree.online("1");
    REQUIRE(pstate.discover().value().cpus.empty());
    tree.online("0");
  }
  CHECK(base() == KHz{2000000});
}

TEST_CASE("the limit of the firmware is read each time: that interrupts no CPU") {
  Tree tree;
  tree.online("0");
  tree.intel(0);
  tree.remove(Tree::cpufreq(0, "base_frequency"));
  tree.put(Tree::cpufreq(0, "bios_limit"), "2200000\n");
  Pstate pstate(tree.root());
  REQUIRE(pstate.discover().has_value());
  tree.put(Tree::cpufreq(0, "bios_limit"), "2000000\n");
  CHECK(pstate.discover().value().cpus.at(CpuId{0}).base == KHz{2000000});
}

TEST_CASE("a known preference is not read, limits and governor are") {
  Tree tree;
  tree.online("0-1");
  tree.intel(0);
  tree.intel(1);
  Pstate pstate(tree.root());
  REQUIRE(pstate.discover().has_value());
  Observed last = pstate.observe({0}).value();
  for (const uint32_t cpu : {0U, 1U}) {
    tree.put(Tree::cpufreq(cpu, "energy_performance_preference"), "power\n");
    tree.put(Tree::cpufreq(cpu, "scaling_max_freq"), "3000000\n");
    tree.put(Tree::cpufreq(cpu, "scaling_governor"), "performance\n");
  }
  const Observed found = pstate.observe({0, 1}, last).value();
  CHECK(found.cpus.at(CpuId{0}) == FrequencySetting{{800000}, {3000000}, "performance", "balance_performance"});
  CHECK(found.cpus.at(CpuId{1}) == FrequencySetting{{800000}, {3000000}, "performance", "power"});
}

TEST_CASE("registers of a CPU without a driver are read once") {
  Tree tree;
  tree.online("0-1");
  tree.part("GenuineIntel", 6);
  tree.perf_ctl(0);
  tree.registers(1);
  Pstate pstate(tree.root());
  const Node node = pstate.discover().value();
  REQUIRE(node.cpus.size() == 1);
  const Observed last = pstate.observe({0}).value();
  for (const uint32_t cpu : {0U, 1U}) tree.put(Tree::msr(cpu), "");  // a read would fail
  CHECK(pstate.discover().value() == node);
  CHECK(pstate.observe({0}, last).value() == last);
  CHECK(pstate.observe({0}).value().cpus.empty());
  SUBCASE("until it was away") {
    tree.online("1");
    REQUIRE(pstate.discover().value().cpus.empty());
    tree.online("0-1");
  }
  SUBCASE("until it had a driver") {
    tree.intel(0);
    REQUIRE(pstate.discover().has_value());
    tree.remove(Tree::cpufreq(0, "scaling_driver"));
  }
  CHECK(pstate.discover().value().cpus.empty());
}

}  // namespace nrd::pstate::interrupts_test
