// Resolves the tasks that clients name by number.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"
#include "base/task.h"

namespace nrd {

struct ResolvedTasks {
  std::vector<Task> tasks;  // ordered by number, each once
  CpuSet cpus;              // where they may run
};
// Reads /proc. An error names the item: "/task_ids/1".
Result<ResolvedTasks> find_tasks(const std::vector<pid_t>& ids, const std::string& boot_id);

// There is no task with this number, which is the error's `subject`.
Failure no_such_task(std::string field, pid_t id);

}  // namespace nrd
