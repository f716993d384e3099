// What the CPUs of a node in memory share.
#pragma once

#include <algorithm>
#include <vector>

#include "hw/cpuset/types.h"

namespace nrd::testing {

// Each socket is a package, a NUMA node and an L3 cache; the threads of a core are neighbours.
inline std::vector<cpuset::Zone> zones_of(uint32_t sockets, uint32_t cpus_per_socket, uint32_t threads_per_core) {
  std::vector<cpuset::Zone> zones;
  const uint32_t total = sockets * cpus_per_socket;
  const auto add = [&](cpuset::Level level, uint32_t cpus) {
    for (uint32_t first = 0; first < total; first += cpus) {
      cpuset::Zone& zone = zones.emplace_back(cpuset::Zone{.level = level, .id = first / cpus});
      zone.cpus.add(CpuId{first}, CpuId{std::min(first + cpus, total) - 1});
    }
  };
  for (const auto level : {cpuset::Level::Package, cpuset::Level::Node, cpuset::Level::L3}) add(level, cpus_per_socket);
  add(cpuset::Level::Core, threads_per_core);
  return zones;
}

}  // namespace nrd::testing
