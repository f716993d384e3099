// Finds other software that also decides about CPUs of pools: programs that manage the CPUs of the host, and cgroups.
// Reads only.
//
//   irqbalance moves interrupts to CPU 4-7 (not in IRQBALANCE_BANNED_CPULIST of /etc/default/irqbalance)
//   /docker/4f1a may run on CPU 4 of workload 7 (cpuset.cpus 0-7)
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hw/cpuset/cgroup_walk.h"
#include "hw/cpuset/types.h"
#include "hw/cpuset/units.h"

namespace nrd::cpuset {

inline constexpr size_t kMostConflicts = 64;  // of cgroups

// Of `cgroups`, at most kMostConflicts: partitions of others, units in nrd.slice without a workload, those that have an
// exclusive CPU of a workload in their cpuset.cpus, and those that chose CPUs of exclusive pools; where the rest of the
// host is confined, also what may run there without a list of its own. Not those of a workload's targets, nor the empty
// ones above them, and not those that limit its processes to its CPUs. `processes`: of a cgroup. Pure.
std::vector<Conflict> cgroup_conflicts(const std::vector<CgroupCpus>& cgroups, const PoolUse& use,
                                       const std::function<std::set<pid_t>(const std::string& path)>& processes);

// Of services that CPUAffinity= puts on CPUs of exclusive pools, where a scheduler that moves no task off a CPU may run
// them beside a workload. `pinned`: CPUAffinity= by name. Not of services that are targets of workloads. Pure.
std::vector<Conflict> affinity_conflicts(const std::map<std::string, CpuSet>& pinned, const PoolUse& use);

// Services with CPUAffinity=. Asks systemd at most once a minute: two questions for each of its services.
class PinnedServices {
 public:
  // As last answered. None without systemd.
  const std::map<std::string, CpuSet>& find();

 private:
  Units units_;
  Deadline next_{};
  std::map<std::string, CpuSet> found_;
};

// Of services that manage CPUs of the whole host (neighbours.h). Reads the names of all processes. Any thread.
std::vector<Conflict> service_conflicts(const PoolUse& use, const std::string& root);

// Takes milliseconds: reads the names of all processes, and up to kMostCgroups cgroups. Any thread. `root`: of the
// files, "" on a host.
std::vector<Conflict> find_conflicts(const PoolUse& use, const std::string& root = "");

}  // namespace nrd::cpuset
