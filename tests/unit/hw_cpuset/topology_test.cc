// The zones of this host: whatever they are, they fit together.
#include "hw/cpuset/topology.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "hw/cpuset/kernel_facts.h"
#include "tests/unit/hw_cpuset/tree.h"

namespace nrd::topology_test {

using cpuset::Level;
using cpuset::Topology;
using cpuset::Zone;

namespace {

std::atomic<int> moves{0};

std::vector<Zone> one_package(const CpuSet& cpus) { return {{.level = Level::Package, .id = 0, .cpus = cpus}}; }

// What is read, call by call.
struct Readings {
  explicit Readings(std::vector<Topology::Found> found) : answers(std::move(found)) {}
  Topology::Found next() { return answers.at(calls++); }
  std::vector<Topology::Found> answers;
  std::atomic<size_t> calls{0};
};

}  // namespace

// Of every library in this process: hwloc restores the mask, so that comparing it before and after shows nothing.
extern "C" int sched_setaffinity(pid_t thread, size_t size, const cpu_set_t* mask) noexcept {
  ++moves;
  return static_cast<int>(::syscall(SYS_sched_setaffinity, thread, size, mask));
}

TEST_CASE("zones are ordered, and each online CPU is in one package and one core") {
  Topology topology;
  const std::vector<Zone> zones = topology.zones(cpuset::online_cpus());
  for (const Level level : {Level::Package, Level::Core}) {
    CpuSet all;
    for (const Zone& zone : zones) {
      if (zone.level != level) continue;
      CHECK_FALSE(zone.cpus.empty());
      CHECK_FALSE(zone.cpus.intersects(all));
      all |= zone.cpus;
    }
    CHECK(all == cpuset::online_cpus());
  }
  CHECK(std::ranges::is_sorted(zones, {}, &Zone::level));
}

// As on a host whose slices are confined: the cpuset of this process has one CPU. The rest is this host's own.
TEST_CASE("CPUs that this process may not use are in the zones, too") {
  const CpuSet online = cpuset::online_cpus();
  const std::string allowed = std::to_string(online.members().front().value) + "\n";
  nrd::testing::Tree tree;
  tree.put("proc/mounts", "cgroup2 /cgroups cgroup2 rw 0 0\n");
  tree.put("proc/self/cgroup", "0::/nrd.service\n");
  tree.put("cgroups/cgroup.controllers", "cpuset cpu\n");
  tree.put("cgroups/nrd.service/cpuset.cpus.effective", allowed);
  tree.put("cgroups/nrd.service/cpuset.mems.effective", "0\n");
  std::filesystem::create_symlink("/proc/cpuinfo", tree.root() + "/proc/cpuinfo");
  std::filesystem::create_symlink("/sys", tree.root() + "/sys");
  ::setenv("HWLOC_FSROOT", tree.root().c_str(), 1);
  const Result<std::vector<Zone>> zones = cpuset::read_zones();
  ::unsetenv("HWLOC_FSROOT");
  REQUIRE(zones);
  CpuSet seen;
  for (const Zone& zone : *zones) seen |= zone.cpus;
  CHECK(seen == online);
}

TEST_CASE("reading the zones moves no thread to another CPU") {
  const int before = moves;
  REQUIRE(cpuset::read_zones());
  CHECK(moves == before);
  // Such a call would be counted.
  cpu_set_t mask;
  REQUIRE(::sched_getaffinity(0, sizeof mask, &mask) == 0);
  REQUIRE(::sched_setaffinity(0, sizeof mask, &mask) == 0);
  CHECK(moves == before + 1);
}

TEST_CASE("CPUs that go offline and come back are not read again") {
  Readings readings({{.online = CpuSet{0, 1, 2, 3}, .zones = one_package(CpuSet{0, 1, 2, 3})}});
  Topology topology([&readings] { return readings.next(); });
  for (const CpuSet& online : {CpuSet{0, 1, 2, 3}, CpuSet{0, 1}, CpuSet{0, 1, 2, 3}})
    CHECK(topology.zones(online) == one_package(CpuSet{0, 1, 2, 3}));
  CHECK(readings.calls == 1);
}

TEST_CASE("an unknown CPU is in its zones at once") {
  Readings readings({{.online = CpuSet{0}, .zones = one_package(CpuSet{0})},
                     {.online = CpuSet{0, 1}, .zones = one_package(CpuSet{0, 1})}});
  Topology topology([&readings] { return readings.next(); });
  REQUIRE(topology.zones(CpuSet{0}) == one_package(CpuSet{0}));
  CHECK(topology.zones(CpuSet{0, 1}) == one_package(CpuSet{0, 1}));
  CHECK(readings.calls == 2);
}

TEST_CASE("a topology that cannot be read has no zones at first, and the zones of before later") {
  const auto fails = [] { return fail(ErrorCode::Hardware, "cannot read the topology of the CPUs", "hwloc: no"); };
  Readings never({{.online = CpuSet{0}, .zones = fails()}});
  Topology without([&never] { return never.next(); });
  CHECK(without.zones(CpuSet{0}).empty());

  const Topology::Found again{.online = CpuSet{0, 1}, .zones = fails()};
  const Topology::Found third{.online = CpuSet{0, 1, 2}, .zones = one_package(CpuSet{0, 1, 2})};
  Readings later({{.online = CpuSet{0}, .zones = one_package(CpuSet{0})}, again, third});
  Topology topology([&later] { return later.next(); });
  REQUIRE(topology.zones(CpuSet{0}) == one_package(CpuSet{0}));
  CHECK(topology.zones(CpuSet{0, 1}) == one_package(CpuSet{0}));
  CHECK(topology.zones(CpuSet{0, 1}) == one_package(CpuSet{0}));
  CHECK(later.calls == 2);
  CHECK(topology.zones(CpuSet{0, 1, 2}) == one_package(CpuSet{0, 1, 2}));
}

}  // namespace nrd::topology_test
