// What CPUs share, read from sysfs by hwloc.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// Packages, dies, NUMA nodes with CPUs, L3 and L2 caches, and cores of the online CPUs; by level, then by first CPU.
Result<std::vector<Zone>> read_zones();

// They are constant, but those of a CPU are known only once it has been online. Reading takes 6 to 45 ms for 80 to 144
// CPUs, so it is done again only for an unknown CPU, and the first time beside what else a start does.
class Topology {
 public:
  struct Found {
    CpuSet online{};  // as of before
    Result<std::vector<Zone>> zones;
  };
  static Found read();

  // Before other threads start: hwloc reads its settings from the environment. Begins to read.
  explicit Topology(std::function<Found()> read = Topology::read);
  // None if the first reading fails. Waits for an unknown CPU of `online`: in no zone it would be granted as a core of
  // its own, even if its sibling belongs to a workload that keeps it idle.
  const Zones& zones(const CpuSet& online);

 private:
  void take(Found found);

  const std::function<Found()> read_;
  std::future<Found> pending_;
  CpuSet known_;  // CPUs that were online at the last reading
  Zones zones_;
};

}  // namespace nrd::cpuset
