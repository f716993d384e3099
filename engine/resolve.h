// Resolves what clients name: tasks, and what they want CPUs near to (devices, NUMA nodes, CPUs, workloads).
#pragma once

#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/model/fwd.h"

namespace nrd {

struct ResolvedTasks {
  std::vector<Task> tasks;  // ordered by number, each once
  CpuSet cpus;              // where they may run
};
// Reads /proc. An error names the item: "/task_ids/1".
Result<ResolvedTasks> find_tasks(const std::vector<pid_t>& ids, const std::string& boot_id);

// There is no task with this number, which is the error's `subject`.
Failure no_such_task(std::string field, pid_t id);

// The CPUs near each of `names`, in their order:
//
//   node:1      those of the NUMA node
//   cpu:8       those that share its L3 cache, or its NUMA node on a machine without
//   workload:7  the same for each of its CPUs
//   eth1, nvme0n1, 0000:17:00.0   local_cpulist of the network interface, block device or PCI device in sysfs
//
// An error names the item: "/cpu/near/1". `root`: of the file system; empty: the host's.
Result<std::vector<CpuSet>> find_near(const NodeState& state, const std::vector<std::string>& names,
                                      const std::string& root = "");

}  // namespace nrd
