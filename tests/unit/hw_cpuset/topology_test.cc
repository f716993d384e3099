// The zones of this host: whatever they are, they fit together.
#include "hw/cpuset/topology.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <thread>

#include "hw/cpuset/kernel_facts.h"
#include "tests/unit/hw_cpuset/tree.h"

namespace nrd::topology_test {

using cpuset::Level;
using cpuset::Topology;
using cpuset::Zone;

namespace {

std::atomic<int> moves{0};

std::vector<Zone> one_package(const CpuSet& cpus) { return {{.level = Level::Package, .id = 0, .cpus = cpus}}; }

// What is read, call by call; each waits until it may answer.
struct Readings {
  explicit Readings(std::vector<Topology::Found> found) : answers(std::move(found)), may_answer(answers.size()) {}
  Topology::Found next() {
    const size_t call = calls++;
    may_answer.at(call).get_future().wait();
    return answers.at(call);
  }
  std::vector<Topology::Found> answers;
  std::vector<std::promise<void>> may_answer;
  std::atomic<size_t> calls{0};
};

// The zones once those of CPU 1 are known, or what they are after ten seconds.
std::vector<Zone> when_read(Topology& topology, const std::function<bool()>& is_read) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!is_read() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return topology.zones(CpuSet{0, 1});
}

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
  readings.may_answer[0].set_value();
  Topology topology([&readings] { return readings.next(); });
  for (const CpuSet& online : {CpuSet{0, 1, 2, 3}, CpuSet{0, 1}, CpuSet{0, 1, 2, 3}})
    CHECK(topology.zones(online) == one_package(CpuSet{0, 1, 2, 3}));
  CHECK(readings.calls == 1);
}

TEST_CASE("an unknown CPU is read on another thread, and the zones of before are valid until then") {
  Readings readings({{.online = CpuSet{0}, .zones = one_package(CpuSet{0})},
                     {.online = CpuSet{0, 1}, .zones = one_package(CpuSet{0, 1})}});
  readings.may_answer[0].set_value();
  Topology topology([&readings] { return readings.next(); });
  REQUIRE(topology.zones(CpuSet{0}) == one_package(CpuSet{0}));
  for (int i = 0; i < 3; ++i) CHECK(topology.zones(CpuSet{0, 1}) == one_package(CpuSet{0}));
  readings.may_answer[1].set_value();
  const auto is_read = [&topology] { return topology.zones(CpuSet{0, 1}) == one_package(CpuSet{0, 1}); };
  CHECK(when_read(topology, is_read) == one_package(CpuSet{0, 1}));
  CHECK(readings.calls == 2);
}

TEST_CASE("a topology that cannot be read has no zones at first, and the zones of before later") {
  const auto fails = [] { return fail(ErrorCode::Hardware, "cannot read the topology of the CPUs", "hwloc: no"); };
  Readings never({{.online = CpuSet{0}, .zones = fails()}});
  never.may_answer[0].set_value();
  Topology without([&never] { return never.next(); });
  CHECK(without.zones(CpuSet{0}).empty());

  const Topology::Found again{.online = CpuSet{0, 1}, .zones = fails()};
  const Topology::Found third{.online = CpuSet{0, 1, 2}, .zones = one_package(CpuSet{0, 1, 2})};
  Readings later({{.online = CpuSet{0}, .zones = one_package(CpuSet{0})}, again, third});
  later.may_answer[0].set_value();
  later.may_answer[1].set_value();
  Topology topology([&later] { return later.next(); });
  REQUIRE(topology.zones(CpuSet{0}) == one_package(CpuSet{0}));
  // The third reading, for CPU 2, begins after the second has failed.
  topology.zones(CpuSet{0, 1});
  const auto is_third = [&topology, &later] { return topology.zones(CpuSet{0, 1, 2}).empty() || later.calls == 3; };
  CHECK(when_read(topology, is_third) == one_package(CpuSet{0}));
  CHECK(later.calls == 3);
  later.may_answer[2].set_value();
  const auto is_read = [&topology] { return topology.zones(CpuSet{0, 1}) == one_package(CpuSet{0, 1, 2}); };
  CHECK(when_read(topology, is_read) == one_package(CpuSet{0, 1, 2}));
}

}  // namespace nrd::topology_test
