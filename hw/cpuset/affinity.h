// Where the threads of a task may run (sched_setaffinity(2)). Children that it starts later inherit that.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// nullopt: it has exited.
Result<std::optional<Masks>> masks_of(const Task& task);

// Each thread gets `wanted.cpus`, or what it has under `wanted.exceptions`. Reads back; Hardware names the thread that
// did not take it. Nothing happens if the task has exited.
Result<void> apply(const Task& task, const Masks& wanted);

// The threads of all processes that may not run on all CPUs of the host, and where they may. Kernels before 6.2
// overwrite this when the cpuset controller is enabled.
class PinnedThreads {
 public:
  static Result<PinnedThreads> find();
  // Those that still exist get back what they had, except the threads of `process`.
  void restore(pid_t process) const;

 private:
  struct Thread {
    pid_t process = 0;
    pid_t id = 0;
    CpuSet cpus{};
  };
  std::vector<Thread> threads_;
};

}  // namespace nrd::cpuset
