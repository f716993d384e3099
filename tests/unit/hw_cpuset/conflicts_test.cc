#include "hw/cpuset/conflicts.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/hw_cpuset/tree.h"

namespace nrd::conflicts_test {

using cpuset::CgroupCpus;
using cpuset::Conflict;
using cpuset::PoolUse;
using cpuset::Target;
using nrd::testing::Tree;

namespace {

Task process(pid_t id) { return {.id = id, .process = id, .start = 7, .boot_id = "boot-1"}; }

// Pool 4-7; workload 1 has CPU 4 in a scope, workload "feed" has CPUs 5-6 for process 20.
PoolUse a_use() {
  return {.pooled = {4, 5, 6, 7},
          .exclusive = {4, 5, 6, 7},
          .holders = {{"1", {.cpus = {4}, .targets = {{Target::Kind::Scope, "nrd-1.scope", process(10)}}}},
                      {"feed", {.cpus = {5, 6}, .targets = {{Target::Kind::Task, "", process(20)}}}}}};
}

std::vector<Conflict> found(const std::vector<CgroupCpus>& cgroups, std::set<pid_t> processes = {}) {
  return cpuset::cgroup_conflicts(cgroups, a_use(), [&](const std::string&) { return processes; });
}

CgroupCpus a_cgroup(const std::string& path, const char* cpus, const std::string& partition = "member") {
  const CpuSet set = CpuSet::parse(cpus).value_or(CpuSet());
  return {.path = path, .cpus = set, .effective = set, .partition = partition};
}

}  // namespace

TEST_CASE("a cgroup with an exclusive CPU in its list is a conflict") {
  const auto conflicts = found({a_cgroup("/system.slice/web.service", "0-4"), a_cgroup("/docker/4f", "4-6"),
                                a_cgroup("/user.slice", ""), a_cgroup("/other", "0-3,7")});
  REQUIRE(conflicts.size() == 3);
  CHECK(conflicts[2].text == "/other may run on CPU 7 of exclusive pools (cpuset.cpus 0-3,7)");
  CHECK(conflicts[0] == Conflict{.source = Conflict::Source::Cgroup,
                                 .name = "/system.slice/web.service",
                                 .cpus = {4},
                                 .text = "/system.slice/web.service may run on CPU 4 of workload 1 (cpuset.cpus 0-4)",
                                 .remedy = "remove CPU 4 from AllowedCPUs= of web.service"});
  CHECK(conflicts[1].text == "/docker/4f may run on CPU 4-6 of workload 1 and 1 others (cpuset.cpus 4-6)");
  CHECK(conflicts[1].remedy == "remove CPU 4-6 from cpuset.cpus of /docker/4f");
}

TEST_CASE("a cgroup that limits a workload's own process to its CPUs is none") {
  CHECK(found({a_cgroup("/docker/4f", "5-6")}, {20}).empty());
  CHECK(found({a_cgroup("/docker/4f", "5")}, {20}).empty());
  CHECK(found({a_cgroup("/docker/4f", "5-6")}, {21}).size() == 1);
  CHECK(found({a_cgroup("/docker/4f", "5-7")}, {20}).size() == 1);
}

TEST_CASE("a cgroup of a workload's target is none, wherever it is") {
  PoolUse use{.pooled = {4, 5}, .exclusive = {4, 5}};
  use.holders["1"] = {.cpus = {4}, .targets = {{Target::Kind::Scope, "feed.service", {}}}};
  use.holders["2"] = {.cpus = {5}, .targets = {{Target::Kind::Scope, "/x/y", {}}}};
  const auto texts = [&use](const std::vector<CgroupCpus>& cgroups) {
    std::string text;
    for (const Conflict& conflict :
         cpuset::cgroup_conflicts(cgroups, use, [](const auto&) { return std::set<pid_t>{}; }))
      text += conflict.name + " " + conflict.cpus.to_string() + "; ";
    return text;
  };
  CHECK(texts({a_cgroup("/system.slice/feed.service", "4"), a_cgroup("/system.slice/feed.service/inner", "4"),
               a_cgroup("/nrd.slice/feed.service", "4"), a_cgroup("/x/y", "5"), a_cgroup("/x/y/z", "5")}) == "");
  CHECK(texts({a_cgroup("/x", "4-5"), a_cgroup("/x/yy", "5"), a_cgroup("/a/x/y", "5"),
               a_cgroup("/system.slice/feed.service.d", "4"), a_cgroup("/system.slice/feed.service", "4-5")}) ==
        "/x 4-5; /x/yy 5; /a/x/y 5; /system.slice/feed.service.d 4; /system.slice/feed.service 5; ");
  const std::string of_a_user = "/user.slice/user-1000.slice/user@1000.service/app.slice/feed.service";
  CHECK(texts({a_cgroup(of_a_user, "4"), a_cgroup("/docker/4f/feed.service", "4")}) ==
        of_a_user + " 4; /docker/4f/feed.service 4; ");
  // The remedy for the one above would take the CPU from the target.
  CHECK(texts({a_cgroup("/x", "4-5"), a_cgroup("/x/y", "5"), a_cgroup("/system.slice", "0-5"),
               a_cgroup("/system.slice/feed.service", "4")}) == "");
}

TEST_CASE("a list of all CPUs is as good as none: it is no choice of free exclusive ones") {
  CHECK(found({a_cgroup("/all", "0-7"), a_cgroup("/some", "7")}).size() == 2);
  PoolUse use = a_use();
  use.holders.clear();
  const auto conflicts = cpuset::cgroup_conflicts({a_cgroup("/all", "0-7"), a_cgroup("/some", "6-7")}, use,
                                                  [](const auto&) { return std::set<pid_t>{}; });
  REQUIRE(conflicts.size() == 1);
  CHECK(conflicts[0].text == "/some may run on CPU 6-7 of exclusive pools (cpuset.cpus 6-7)");
}

TEST_CASE("beside a confined host, processes that inherit an exclusive CPU are a conflict") {
  const CgroupCpus greedy{.path = "/greedy", .cpus = {}, .effective = {0, 4}, .partition = "member"};
  CHECK(found({greedy}, {30}).empty());
  PoolUse use = a_use();
  use.is_confined = true;
  const auto find = [&](std::set<pid_t> processes) {
    return cpuset::cgroup_conflicts({greedy}, use, [&](const auto&) { return processes; });
  };
  REQUIRE(find({30}).size() == 1);
  CHECK(find({30})[0].text == "/greedy may run on CPU 4 of workload 1 (it has no cpuset.cpus)");
  CHECK(find({}).empty());
}

TEST_CASE("a workload's cgroup in nrd.slice with a CPU of another is a conflict") {
  const auto conflicts = found({a_cgroup("/nrd.slice/nrd-1.scope", "4-5"), a_cgroup("/nrd.slice/nrd-1.scope/in", "4")});
  REQUIRE(conflicts.size() == 1);
  CHECK(conflicts[0].text == "/nrd.slice/nrd-1.scope may run on CPU 5 of workload feed (cpuset.cpus 4-5)");
}

TEST_CASE("a unit in nrd.slice needs a workload") {
  const auto conflicts =
      found({a_cgroup("/nrd.slice", "0-7", "root"), a_cgroup("/nrd.slice/nrd-1.scope", "4"),
             a_cgroup("/nrd.slice/nrd-1.scope/inner", "4"), a_cgroup("/nrd.slice/nrd-2.scope", "3-5"),
             a_cgroup("/nrd.slice/nrd-2.scope/inner", "4"), a_cgroup("/nrd.slices", "")});
  REQUIRE(conflicts.size() == 1);
  CHECK(conflicts[0].source == Conflict::Source::Unit);
  CHECK(conflicts[0].name == "nrd-2.scope");
  CHECK(conflicts[0].cpus.to_string() == "4-5");
}

TEST_CASE("a slice of nrd's own that keeps the controller enabled is none") {
  CHECK(found({a_cgroup("/nrd.slice", "0-7"), a_cgroup("/system.slice/system-nrd.slice", "0-7"),
               a_cgroup("/a.slice/a-b.slice/a-b-nrd.slice", "0-7"), a_cgroup("/nrd.slice/nrd-nrd.slice", "0-7")})
            .empty());
  CHECK(found({a_cgroup("/system.slice/nrd.service", "0-7")}).size() == 1);
}

TEST_CASE("a valid partition of others is a conflict, also below another cgroup") {
  const auto conflicts = found({a_cgroup("/machine.slice", "2-4,7", "root"), a_cgroup("/one.slice", "7", "isolated"),
                                a_cgroup("/two.slice", "7", "root invalid (Cpu list in cpuset.cpus not exclusive)"),
                                a_cgroup("/none.slice", "2-3", "root"), a_cgroup("/deep.slice/inner", "7", "root")});
  REQUIRE(conflicts.size() == 4);
  CHECK(conflicts[2].text == "/two.slice may run on CPU 7 of exclusive pools (cpuset.cpus 7)");
  CHECK(conflicts[3].name == "/deep.slice/inner");
  CHECK(conflicts[0].source == Conflict::Source::Partition);
  CHECK(conflicts[0].text == "/machine.slice is a cpuset partition (root) with CPU 4,7");
  CHECK(conflicts[1].name == "/one.slice");
}

TEST_CASE("names of cgroups cannot write to a terminal, and there is an end to them") {
  const auto conflicts = found({a_cgroup("/\x1b[2J\n\xff", "4")});
  REQUIRE(conflicts.size() == 1);
  CHECK(conflicts[0].name == "/?[2J??");
  std::vector<CgroupCpus> many;
  for (int i = 0; i < 100; ++i) many.push_back(a_cgroup("/docker/" + std::to_string(i), "4"));
  CHECK(found(many).size() == cpuset::kMostConflicts);
}

TEST_CASE("all files of a host") {
  Tree tree;
  tree.put("var/lib/kubelet/cpu_manager_state", R"({"policyName":"static","defaultCpuSet":"0-4"})");
  tree.put("etc/tuned/active_profile", "realtime\n");
  tree.put("etc/tuned/realtime-variables.conf", "isolated_cores=5\n");
  tree.put("etc/default/irqbalance", "IRQBALANCE_BANNED_CPULIST=4-6\n");
  tree.put("proc/33/comm", "irqbalance\n");
  tree.put("proc/self/comm", "irqbalance\n");
  tree.cgroup("sys/fs/cgroup/machine.slice", "7", "isolated");
  tree.cgroup("sys/fs/cgroup/system.slice", "");
  tree.cgroup("sys/fs/cgroup/system.slice/web.service", "0-7");
  tree.cgroup("sys/fs/cgroup/docker", "5");
  tree.put("sys/fs/cgroup/docker/cgroup.procs", "20\n");
  tree.cgroup("sys/fs/cgroup/nrd.slice", "0-7");
  tree.cgroup("sys/fs/cgroup/nrd.slice/left.service", "0-7");
  const auto names = [&] {
    std::string text;
    for (const Conflict& conflict : cpuset::find_conflicts(a_use(), tree.root()))
      text += conflict.name + " " + conflict.cpus.to_string() + "; ";
    return text;
  };
  CHECK(names() ==
        "kubelet 4; tuned 5; irqbalance 7; /machine.slice 7; left.service 4-7; /system.slice/web.service 4-6; ");
  tree.put("proc/33/comm", "irqbalanced\n");
  tree.put("etc/tuned/active_profile", "balanced\n");
  std::filesystem::remove_all(tree.root() + "/var");
  std::filesystem::remove_all(tree.root() + "/sys");
  CHECK(names() == "");
  std::filesystem::remove_all(tree.root() + "/proc");
  CHECK(names() == "");
}

TEST_CASE("services with CPUAffinity= on exclusive CPUs conflict, unless they are targets of workloads") {
  const PoolUse use{
      .pooled = *CpuSet::parse("2-9"),
      .exclusive = *CpuSet::parse("2-5"),
      .holders = {{"7", {.cpus = CpuSet{2}, .targets = {{.kind = Target::Kind::Unit, .name = "feed.service"}}}}}};
  const auto found = affinity_conflicts(
      {{"feed.service", CpuSet{2}}, {"far.service", CpuSet{0, 8}}, {"log.service", CpuSet{1, 4, 5}}}, use);
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == "log.service");
  CHECK(found[0].source == Conflict::Source::Unit);
  CHECK(found[0].cpus == CpuSet{4, 5});
  CHECK(found[0].text == "log.service is configured to run on CPU 4-5 (CPUAffinity=1,4-5)");
}

}  // namespace nrd::conflicts_test
