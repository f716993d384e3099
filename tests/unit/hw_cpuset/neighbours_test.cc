#include "hw/cpuset/neighbours.h"

#include <doctest/doctest.h>

namespace nrd::neighbours_test {

using cpuset::Conflict;

namespace {

const CpuSet kPooled{4, 5, 6, 7};

std::string cpus_of(const std::optional<Conflict>& conflict) { return conflict ? conflict->cpus.to_string() : "none"; }

}  // namespace

TEST_CASE("the static CPU manager of kubelet has the default CPUs and those of containers") {
  struct Row {
    const char* state;
    const char* cpus;
  };
  for (const auto& [state, cpus] :
       {Row{R"({"policyName":"static","defaultCpuSet":"0-5","entries":{"pod":{"a":"7","b":"8-9"}},"checksum":1})",
            "4-5,7"},
        Row{R"({"policyName":"static","defaultCpuSet":"0-1","entries":{"a":"6"},"checksum":1})", "6"},
        Row{R"({"policyName":"static","defaultCpuSet":"0-3","checksum":1})", "none"},
        Row{R"({"policyName":"none","defaultCpuSet":"","checksum":1})", "none"},
        Row{R"({"policyName":"none","defaultCpuSet":"0-7"})", "none"}, Row{"", "none"},
        Row{R"({"policyName":"static","defaultCpuSet":"0-)", "none"}, Row{"[]", "none"},
        Row{R"({"policyName":3,"defaultCpuSet":"4"})", "none"},
        Row{R"({"policyName":"static","defaultCpuSet":4,"entries":["5"]})", "none"}}) {
    CAPTURE(state);
    CHECK(cpus_of(cpuset::kubelet_conflict(state, kPooled)) == cpus);
  }
  const auto conflict = cpuset::kubelet_conflict(R"({"policyName":"static","defaultCpuSet":"4"})", kPooled);
  CHECK(conflict->name == "kubelet");
  CHECK(conflict->source == Conflict::Source::Kubelet);
}

TEST_CASE("a profile of tuned that isolates CPUs counts unless that of nrd is active as well") {
  CHECK(cpuset::isolating_profile("cpu-partitioning\n") == "cpu-partitioning");
  CHECK(cpuset::isolating_profile("balanced realtime-virtual-host\n") == "realtime-virtual-host");
  CHECK(cpuset::isolating_profile("cpu-partitioning nrd\n") == "");
  CHECK(cpuset::isolating_profile("throughput-performance\n") == "");
  CHECK(cpuset::isolating_profile("realtime/../../../root\n") == "");
  CHECK(cpuset::isolating_profile("") == "");
  CHECK(cpuset::variables_file_of("realtime") == "/etc/tuned/realtime-variables.conf");
}

TEST_CASE("tuned moves tasks off isolated_cores") {
  struct Row {
    const char* variables;
    const char* cpus;
  };
  for (const auto& [variables, cpus] :
       {Row{"isolated_cores=2-5\n", "4-5"}, Row{"# isolated_cores=2-5\n", "none"}, Row{"", "none"},
        Row{"isolated_cores=4\nisolated_cores = 6\n", "6"}, Row{"isolated_cores=\n", "none"},
        Row{"isolated_cores=0-3", "none"}, Row{"isolated_cores=${f:calc_isolated_cores:1}\n", "4-7"},
        Row{"no_balance_cores=4\n", "none"}, Row{"isolated_cores=4\ncgroup_ps_blacklist=:/nrd\\.slice/\n", "none"}}) {
    CAPTURE(variables);
    CHECK(cpus_of(cpuset::tuned_conflict("cpu-partitioning", variables, kPooled)) == cpus);
  }
}

TEST_CASE("irqbalance moves interrupts to CPUs that are not banned") {
  struct Row {
    const char* defaults;
    CpuSet unbalanced;
    const char* cpus;
  };
  for (const auto& [defaults, unbalanced, cpus] :
       {Row{"", {}, "4-7"}, Row{"", {4, 5}, "6-7"}, Row{"", {4, 5, 6, 7}, "none"},
        Row{"IRQBALANCE_BANNED_CPULIST=4-7\n", {}, "none"}, Row{"IRQBALANCE_BANNED_CPULIST=\"0,4-6\"\n", {}, "7"},
        Row{"IRQBALANCE_ONESHOT=\n#IRQBALANCE_BANNED_CPULIST=4-7\n", {}, "4-7"},
        // The variable replaces what irqbalance spares without it, also an empty one.
        Row{"IRQBALANCE_BANNED_CPULIST=4\n", {5}, "5-7"}, Row{"IRQBALANCE_BANNED_CPULIST=\n", {4, 5, 6, 7}, "4-7"},
        Row{"IRQBALANCE_BANNED_CPULIST='junk'\n", {}, "4-7"}}) {
    CAPTURE(defaults);
    const cpuset::PoolUse use{.exclusive = kPooled, .unbalanced = unbalanced};
    CHECK(cpus_of(cpuset::irqbalance_conflict(defaults, use)) == cpus);
  }
  const auto conflict = cpuset::irqbalance_conflict("IRQBALANCE_BANNED_CPULIST=0,4\n", {.exclusive = kPooled});
  CHECK(conflict->remedy.starts_with("IRQBALANCE_BANNED_CPULIST=0,4-7 in"));
}

}  // namespace nrd::neighbours_test
