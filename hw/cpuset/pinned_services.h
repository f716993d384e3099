// Services that CPUAffinity= puts on CPUs of exclusive pools: a scheduler that moves no task off a CPU may run them
// beside a workload.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "hw/cpuset/types.h"
#include "hw/cpuset/units.h"

namespace nrd::cpuset {

// `pinned`: CPUAffinity= by name. Not of services that are targets of workloads. Pure.
std::vector<Conflict> affinity_conflicts(const std::map<std::string, CpuSet>& pinned, const PoolUse& use);

// Asks systemd at most once a minute: two questions for each of its services.
class PinnedServices {
 public:
  // As last answered. None without systemd.
  const std::map<std::string, CpuSet>& find();

 private:
  Units units_;
  Deadline next_{};
  std::map<std::string, CpuSet> found_;
};

}  // namespace nrd::cpuset
