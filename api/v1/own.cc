#include "api/v1/own.h"

#include <algorithm>
#include <string>

#include "api/v1/owner_json.h"
#include "engine/process_watcher.h"

namespace nrd::v1 {
namespace {

pid_t calling_process(const routing::Call& call) {
  const auto& credentials = call.request.peer->credentials;
  return credentials ? credentials->pid : 0;  // 0: not visible in this PID namespace
}

bool belongs_to_caller(const routing::Call& call, const std::optional<store::Owner>& owner) {
  if (!owner || owner->pid != calling_process(call)) return false;
  const Result<store::Owner> caller = find_caller(call.owners, call.request);
  return caller && *caller == *owner;
}

routing::Problem forbidden(const char* field, const char* detail, const char* allowed) {
  return {.status = 403, .code = "Forbidden", .line = detail, .detail = detail, .field = field, .allowed = allowed};
}

std::optional<routing::Problem> refuse_foreign_tasks(const routing::Call& call, const std::vector<Task>& tasks) {
  const pid_t pid = calling_process(call);
  if (std::ranges::all_of(tasks, [pid](const Task& task) { return task.process == pid; })) return std::nullopt;
  return forbidden("/task_ids", "the run role may only name tasks of the calling process",
                   "the calling process and its threads");
}

}  // namespace

const Workload* addressed_workload(const routing::Call& call, const NodeState& state) {
  const Workload* found = workload_with_id(state, call.id);
  if (!found || !call.request.is_limited_to_own) return found;
  return belongs_to_caller(call, found->spec.owner) ? found : nullptr;
}

std::optional<routing::Problem> refuse_if_not_own(const routing::Call& call, const Spec& spec) {
  if (!call.request.is_limited_to_own) return std::nullopt;
  if (belongs_to_caller(call, spec.owner)) return refuse_foreign_tasks(call, spec.tasks);
  return forbidden("/owner", "the run role may only manage workloads owned by the calling process",
                   "{\"caller\": true}");
}

std::optional<routing::Problem> refuse_if_not_own(const routing::Call& call, const SpecPatch& patch) {
  if (!call.request.is_limited_to_own || !patch.tasks) return std::nullopt;
  return refuse_foreign_tasks(call, *patch.tasks);
}

}  // namespace nrd::v1
