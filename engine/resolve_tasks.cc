#include "engine/resolve_tasks.h"

#include <algorithm>
#include <set>
#include <utility>

namespace nrd {

Failure no_such_task(std::string field, pid_t id) {
  return Failure(Error{.code = ErrorCode::BadRequest,
                       .field = std::move(field),
                       .message = "there is no task " + std::to_string(id),
                       .detail = {},
                       .allowed = "processes and threads that run on this node",
                       .subject = std::to_string(id)});
}

Result<ResolvedTasks> find_tasks(const std::vector<pid_t>& ids, const std::string& boot_id) {
  ResolvedTasks named;
  std::set<pid_t> seen;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!seen.insert(ids[i]).second) continue;
    const std::string field = "/task_ids/" + std::to_string(i);
    const std::optional<FoundTask> found = TRY(find_task(ids[i]));
    if (!found) return no_such_task(field, ids[i]);
    if (found->is_kernels) {
      return fail_at(ErrorCode::BadRequest, field, "task " + std::to_string(ids[i]) + " is a kernel thread",
                     "user-space processes and threads");
    }
    Task task = found->task;
    task.boot_id = boot_id;
    named.tasks.push_back(std::move(task));
    named.cpus |= found->cpus;
  }
  std::ranges::sort(named.tasks);
  return named;
}

}  // namespace nrd
