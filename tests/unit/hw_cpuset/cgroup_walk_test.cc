#include "hw/cpuset/cgroup_walk.h"

#include <doctest/doctest.h>

#include "tests/unit/hw_cpuset/tree.h"

namespace nrd::cgroup_walk_test {

using cpuset::CgroupCpus;
using nrd::testing::Tree;

TEST_CASE("cgroups are listed with their CPUs, parents first") {
  Tree tree;
  tree.cgroup("b.slice", "");
  tree.cgroup("b.slice/inner.service", "4-5");
  tree.cgroup("a.slice", "2", "root invalid (Cpu list in cpuset.cpus not exclusive)");
  CHECK(
      cpuset::list_cgroups(tree.root()) ==
      std::vector<CgroupCpus>{
          {.path = "/a.slice",
           .cpus = CpuSet{2},
           .effective = CpuSet{2},
           .partition = "root invalid (Cpu list in cpuset.cpus not exclusive)"},
          {.path = "/b.slice", .effective = CpuSet::first(8), .partition = "member"},
          {.path = "/b.slice/inner.service", .cpus = CpuSet{4, 5}, .effective = CpuSet{4, 5}, .partition = "member"}});
}

TEST_CASE("a cgroup without the controller, a link and a file are left out with all below") {
  Tree tree;
  tree.put("plain.slice/inner/cpuset.cpus", "4\n");
  tree.cgroup("a.slice", "4");
  std::filesystem::create_directory_symlink("a.slice", tree.root() + "/link.slice");
  tree.put("cpuset.cpus.effective", "0-7\n");
  const auto cgroups = cpuset::list_cgroups(tree.root());
  REQUIRE(cgroups.size() == 1);
  CHECK(cgroups.front().path == "/a.slice");
  CHECK(cpuset::list_cgroups(tree.root() + "/nothing").empty());
}

TEST_CASE("truncated and foreign texts are cgroups without CPUs") {
  Tree tree;
  tree.put("a/cpuset.cpus", "4-\n");
  tree.put("b/cpuset.cpus", "");
  const auto cgroups = cpuset::list_cgroups(tree.root());
  REQUIRE(cgroups.size() == 2);
  CHECK(cgroups.front() == CgroupCpus{.path = "/a"});
  CHECK(cgroups.back() == CgroupCpus{.path = "/b"});
}

TEST_CASE("the walk ends at its limits") {
  Tree tree;
  std::string path = "deep";
  for (int i = 0; i < 12; ++i, path += "/deep") tree.cgroup(path, "4");
  CHECK(cpuset::list_cgroups(tree.root()).size() == cpuset::kDeepestCgroup);
  for (int i = 0; i < 5000; ++i) tree.put("wide" + std::to_string(i) + "/cpuset.cpus", "\n");
  CHECK(cpuset::list_cgroups(tree.root()).size() <= cpuset::kMostCgroups);
}

TEST_CASE("the processes of a cgroup") {
  Tree tree;
  tree.put("a/cgroup.procs", "7\n0\n12\n");
  CHECK(cpuset::processes_in(tree.root(), "/a") == std::set<pid_t>{7, 12});
  CHECK(cpuset::processes_in(tree.root(), "/b").empty());
}

}  // namespace nrd::cgroup_walk_test
