// A node with two CPU pools, three processes, and an engine on it.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/engine/fixtures.h"

namespace nrd::testing {

inline const cpuset::Target kUnit{.kind = cpuset::Target::Kind::Unit, .name = "feed.service", .task = {}};
inline const cpuset::Target kCgroup{.kind = cpuset::Target::Kind::Cgroup, .name = "/pod", .task = {}};

// 2 sockets of 8 CPUs, two threads a core.
inline NodeShape with_threads() {
  NodeShape shape;
  shape.threads_per_core = 2;
  return shape;
}

inline NodeConfig with_pools() {
  NodeConfig config;
  config.groups.os = CpuSet{0, 1};
  config.cpu_pools = {{.name = "fast", .cpus = *CpuSet::parse("2-7,10-15")},
                      {.name = "common", .cpus = CpuSet{8, 9}, .kind = CpuPool::Kind::Shared}};
  return config;
}

inline Spec for_cpus(CpuRequest request, std::vector<Task> tasks = {}) {
  Spec spec;
  spec.cpu = std::move(request);
  spec.tasks = std::move(tasks);
  return spec;
}

inline Spec for_unit(const std::string& unit = kUnit.name, CpuRequest request = {.pool = "fast", .count = 2}) {
  Spec spec = for_cpus(std::move(request));
  spec.unit = unit;
  return spec;
}

struct CpuPoolFixture : TransactionFixture {
  explicit CpuPoolFixture(const NodeShape& shape = with_threads()) : TransactionFixture(shape, with_pools()) {
    for (pid_t id : {10, 20, 30}) hardware.add_task(a_process(id), everywhere);
    start();
  }
  // A unit or cgroup that runs on all CPUs.
  void add_group(const cpuset::Target& target, std::set<Task> processes = {}) {
    hardware.tree.cpuset.targets[target] = {.cpus = everywhere};
    hardware.tree.cpuset.groups[target] = {.available = everywhere, .processes = std::move(processes)};
  }
  std::string runs_on(pid_t id) const { return hardware.cpus_of(a_process(id)).to_string(); }
  const CpuSet everywhere = CpuSet::first(16);
};

}  // namespace nrd::testing
