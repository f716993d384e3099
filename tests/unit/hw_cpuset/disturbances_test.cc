#include "hw/cpuset/disturbances.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/hw_cpuset/tree.h"

namespace nrd::cpuset::disturbances_test {

using nrd::testing::Tree;
using Source = Disturbance::Source;

namespace {

void cpu(Tree& tree, int number, const std::string& limit = "0") {
  const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(number);
  tree.put(folder + "/power/pm_qos_resume_latency_us", limit + "\n");
  const auto state = [&](int index, const std::string& name, int latency) {
    const std::string path = folder + "/cpuidle/state" + std::to_string(index);
    tree.put(path + "/name", name + "\n");
    tree.put(path + "/latency", std::to_string(latency) + "\n");
    tree.put(path + "/disable", "0\n");
  };
  state(0, "POLL", 0);
  state(1, "C1", 2);
  state(2, "C6", 133);
}

std::vector<Disturbance> found(const Tree& tree, Source source, CheckQuery query) {
  std::vector<Disturbance> all = find_disturbances(query, tree.root());
  std::erase_if(all, [source](const Disturbance& each) { return each.source != source; });
  return all;
}

CheckQuery of(CpuSet cpus, std::optional<uint32_t> latency = {}) {
  return {
      .cpus = cpus, .latency_us = latency, .use = {.pooled = cpus, .exclusive = cpus, .unbalanced = {}, .holders = {}}};
}

}  // namespace

TEST_CASE("the deepest idle state that a CPU may enter is found") {
  Tree tree;
  cpu(tree, 2);
  cpu(tree, 3);
  const auto of_both = found(tree, Source::IdleStates, of({2, 3}));
  REQUIRE(of_both.size() == 1);
  CHECK(of_both[0].name == "C6");
  CHECK(of_both[0].cpus == CpuSet{2, 3});
  CHECK(of_both[0].text == "leaving idle state C6 takes 133 us");
  tree.put("sys/devices/system/cpu/cpu2/cpuidle/state2/disable", "1\n");
  const auto apart = found(tree, Source::IdleStates, of({2, 3}));
  REQUIRE(apart.size() == 2);
  CHECK(apart[0].name == "C1");
  CHECK(apart[1].cpus == CpuSet{3});
}

TEST_CASE("an idle state beyond a limit, or within that of the pool, is no disturbance") {
  const std::vector<std::tuple<const char*, std::optional<uint32_t>, std::string>> rows{
      {"0", std::nullopt, "C6"}, {"0", 0, ""},    {"0", 2, ""}, {"0", 1000, ""},
      {"2", std::nullopt, "C1"}, {"n/a", {}, ""}, {"2", 0, ""}, {"1", std::nullopt, ""}};
  for (const auto& [limit, of_pool, name] : rows) {
    CAPTURE(limit);
    Tree tree;
    cpu(tree, 2, limit);
    const auto states = found(tree, Source::IdleStates, of({2}, of_pool));
    CHECK((states.empty() ? std::string() : states[0].name) == name);
  }
}

TEST_CASE("a kernel without limits of idle states does not keep that of the pool") {
  Tree tree;
  cpu(tree, 2);
  std::filesystem::remove_all(tree.root() + "/sys/devices/system/cpu/cpu2/power");
  CHECK(found(tree, Source::IdleStates, of({2}, 0)).size() == 1);
}

TEST_CASE("the tick is found where nohz_full= lacks a CPU") {
  Tree tree;
  CHECK(found(tree, Source::Tick, of({2, 3}))[0].cpus == CpuSet{2, 3});
  tree.put("sys/devices/system/cpu/nohz_full", "3-7\n");
  CHECK(found(tree, Source::Tick, of({2, 3}))[0].cpus == CpuSet{2});
  CHECK(found(tree, Source::Tick, of({3})).empty());
}

TEST_CASE("governors other than performance are found, each with its CPUs") {
  Tree tree;
  const auto put = [&tree](int number, const char* governor) {
    tree.put("sys/devices/system/cpu/cpu" + std::to_string(number) + "/cpufreq/scaling_governor", governor);
  };
  put(2, "performance\n");
  put(3, "powersave\n");
  put(4, "schedutil\n");
  put(5, "powersave\n");
  const auto governors = found(tree, Source::Governor, of({2, 3, 4, 5, 6}));
  REQUIRE(governors.size() == 2);
  CHECK(governors[0].name == "powersave");
  CHECK(governors[0].cpus == CpuSet{3, 5});
}

TEST_CASE("a limit of real-time tasks, and huge pages for all tasks, are found") {
  Tree tree;
  tree.put("proc/sys/kernel/sched_rt_period_us", "1000000\n");
  tree.put("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  for (const char* runtime : {"-1\n", "1000000\n", "", "x\n"}) {
    tree.put("proc/sys/kernel/sched_rt_runtime_us", runtime);
    CHECK(found(tree, Source::RealTimeLimit, of({2})).empty());
  }
  tree.put("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
  CHECK(found(tree, Source::RealTimeLimit, of({2}))[0].text ==
        "real-time tasks are stopped after 950000 of each 1000000 us");
  CHECK(found(tree, Source::HugePages, of({2})).size() == 1);
  tree.put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  CHECK(found(tree, Source::HugePages, of({2})).empty());
}

TEST_CASE("services that decide about the CPUs are found") {
  Tree tree;
  tree.put("proc/77/comm", "irqbalance\n");
  tree.put("etc/tuned/active_profile", "cpu-partitioning\n");
  tree.put("etc/tuned/cpu-partitioning-variables.conf", "isolated_cores=2-3\n");
  CHECK(found(tree, Source::Irqbalance, of({2})).size() == 1);
  CHECK(found(tree, Source::Tuned, of({2}))[0].cpus == CpuSet{2});
}

TEST_CASE("a pool without online CPUs has no disturbances") { CHECK(find_disturbances({}, "").empty()); }

}  // namespace nrd::cpuset::disturbances_test
