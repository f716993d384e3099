// What CPUs share, read from sysfs by hwloc.
#pragma once

#include <future>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// Packages, dies, NUMA nodes with CPUs, L3 and L2 caches, and cores of the online CPUs; by level, then by first CPU.
Result<std::vector<Zone>> read_zones();

// They change only as CPUs go online and offline, and reading takes 6 to 45 ms for 80 to 144 CPUs.
class Topology {
 public:
  // Before other threads start: hwloc reads its settings from the environment. Begins to read.
  Topology();
  Result<std::vector<Zone>> zones();

 private:
  struct Read {
    std::string online{};  // as of before
    Result<std::vector<Zone>> zones;
  };
  static Read read();

  std::future<Read> first_;
  std::string online_;
  std::vector<Zone> zones_;
};

}  // namespace nrd::cpuset
