// Where the threads of a task may run (sched_setaffinity(2)). Children that it starts later inherit that.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/task.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// nullopt: it has exited.
Result<std::optional<Masks>> masks_of(const Task& task);

// Each thread gets `wanted.cpus`, or what it has under `wanted.exceptions`. Reads back; Hardware names the thread that
// did not take it. Nothing happens if the task has exited.
Result<void> apply(const Task& task, const Masks& wanted);

}  // namespace nrd::cpuset
