#include "engine/plan/tasks.h"

#include <algorithm>
#include <string>

#include "base/find_in.h"
#include "engine/resolve.h"

namespace nrd::plan {
namespace {

constexpr const char* kTasksField = "/task_ids";

std::string number_of(const Task& task) { return std::to_string(task.id); }

// The same task, or a process and one of its threads.
bool overlap(const Task& a, const Task& b) {
  if (a.boot_id != b.boot_id) return false;
  if (a.is_process() && b.is_process()) return a.id == b.id && a.start == b.start;
  if (a.is_process()) return a.id == b.process;
  if (b.is_process()) return b.id == a.process;
  return a.id == b.id && a.start == b.start;
}

Result<void> check_nobody_elses(const NodeState& state, const Task& task, std::optional<WorkloadId> self) {
  for (const auto& [id, other] : state.workloads) {
    if (id == self) continue;
    const bool is_taken = std::ranges::any_of(
        other.spec.tasks, [&](const Task& its) { return overlap(its, task) && !has_ended(state, its); });
    if (!is_taken) continue;
    return fail_at(ErrorCode::Conflict, kTasksField,
                   "task " + number_of(task) + " belongs to workload " + id_text(other),
                   "tasks that no other workload has", number_of(task) + " " + id_text(other));
  }
  return {};
}

Result<void> check_not_infra(const NodeState& state, const Task& task) {
  const bool is_infra = std::ranges::any_of(
      state.infra_tasks, [&](const Task& its) { return overlap(its, task) && !has_ended(state, its); });
  if (!is_infra) return {};
  return fail_at(ErrorCode::Conflict, kTasksField,
                 "task " + number_of(task) + " belongs to the infrastructure, by the configuration (infra.processes)",
                 "tasks that no other workload or group has");
}

// Children of a workload's task are in its class too, without being claimed themselves.
bool is_class_of_ours(const NodeState& state, const std::string& group) {
  return std::ranges::any_of(state.workloads, [&group](const auto& entry) {
    const Grant& grant = entry.second.grant;
    return grant.has_class() && group == text_of(grant.clos);
  });
}

Result<void> check_place(const NodeState& state, const Task& task) {
  const auto* groups = find_in(state.observed.rdt.tasks, task);
  if (!groups) return {};
  for (const std::string& group : *groups) {
    if (group.empty() || is_class_of_ours(state, group)) continue;
    return fail_at(ErrorCode::Conflict, kTasksField,
                   "task " + number_of(task) + " is in resctrl group " + group + ", which nrd does not own",
                   "tasks of the root group; " + how_to_free(group));
  }
  return {};
}

bool has_already(const NodeState& state, std::optional<WorkloadId> self, const Task& task) {
  if (!self) return false;
  const auto& its = state.workloads.at(*self).spec.tasks;
  return std::ranges::find(its, task) != its.end();
}

}  // namespace

Result<void> check_tasks(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self) {
  if (spec.tasks.empty()) return {};
  if (!spec.asks_for_ways() && !spec.cpu) {
    return fail_at(ErrorCode::BadRequest, kTasksField, "task_ids requires a request for cache or cpu",
                   "cache or cpu together with task_ids");
  }
  if (spec.frequency && spec.cpus.empty() && !spec.cpu) {
    return fail_at(ErrorCode::BadRequest, "/pstate", "a frequency request requires CPUs",
                   "core_ids together with task_ids");
  }
  for (const Task& task : spec.tasks) {
    if (has_already(state, self, task)) continue;
    if (has_ended(state, task)) return no_such_task(kTasksField, task.id);
    TRY(check_nobody_elses(state, task, self));
    TRY(check_not_infra(state, task));
    TRY(check_place(state, task));
  }
  return {};
}

}  // namespace nrd::plan
