// Where the threads of a task may run (sched_setaffinity(2)). Children that it starts later inherit that.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// nullopt: it has exited.
Result<std::optional<Masks>> masks_of(const Task& task);

// Cpus_allowed_list, offline CPUs included, in the text of /proc/TID/status. nullopt: there is none.
std::optional<CpuSet> allowed_in_status(std::string_view status);

// Each thread gets `wanted.cpus`, or what it has under `wanted.exceptions`. Reads back; Hardware names the thread that
// did not take it. Nothing happens if the task has exited.
Result<void> apply(const Task& task, const Masks& wanted);

// The same as far as the threads' cpusets and the online CPUs allow: the kernel clips a mask to these.
Result<void> restore(const Task& task, const Masks& before);

// Threads that may not run everywhere, and where they may. Kernels before 6.2 overwrite this when the cpuset controller
// is enabled, and when the cpuset of a cgroup changes.
class PinnedThreads {
 public:
  // Of all processes of the host, which has the CPUs `all`, beside those of their cgroups.
  static Result<PinnedThreads> find(const CpuSet& all);
  // The same with the CPUs that the host has now.
  static Result<PinnedThreads> find_on_host();
  // Of the processes in `cgroup`, which may run on `all`: at most kMostProcesses.
  static Result<PinnedThreads> find_in(const std::string& cgroup, const CpuSet& all);
  // Those that were found as `pinned` in another life of nrd.
  static PinnedThreads of(const std::vector<Pinned>& pinned);
  // At most kMostProcesses.
  std::vector<Pinned> to_pinned() const;
  // Those that still exist get back what they had.
  void restore() const;
  // The same within `cpus`; those that had none of them keep what the kernel gave them.
  void restore_within(const CpuSet& cpus) const;

 private:
  struct Thread {
    pid_t process = 0;
    pid_t id = 0;
    CpuSet cpus{};
  };
  Result<void> add(pid_t process, const CpuSet& all);
  std::vector<Thread> threads_;
};

}  // namespace nrd::cpuset
