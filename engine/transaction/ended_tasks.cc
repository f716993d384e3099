#include "engine/transaction/ended_tasks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "engine/model/cpu_sets.h"

namespace nrd {
namespace {

std::string numbers_of(const std::vector<Task>& tasks) {
  std::string text;
  for (const Task& task : tasks) text += (text.empty() ? "" : " ") + std::to_string(task.id);
  return text;
}

}  // namespace

EndedTasks without_ended_tasks(const NodeState& state, Time now) {
  EndedTasks ended;
  std::map<WorkloadId, std::vector<Task>> left;
  for (const auto& [id, workload] : state.workloads) {
    std::vector<Task> living;
    for (const Task& task : workload.spec.tasks) (has_ended(state, task) ? ended.of[id] : living).push_back(task);
    if (ended.of.contains(id)) left.emplace(id, std::move(living));
  }
  ended.workloads = plan::without_tasks(state, left, now);
  return ended;
}

bool names_tasks(const NodeState& state) {
  const auto has_tasks = [](const auto& entry) {
    return !entry.second.spec.tasks.empty() || group_target(entry.second.spec);
  };
  return !state.baselines.tasks.empty() || !state.baselines.cpu_sets.empty() ||
         !state.config->groups.infra_processes.empty() || std::ranges::any_of(state.workloads, has_tasks);
}

void log_ended_tasks(const Workloads& before, const EndedTasks& ended) {
  for (const auto& [id, tasks] : ended.of) {
    const bool is_over = !ended.workloads.contains(id);
    log::notice(
        "TASKS_ENDED",
        is_over ? "all tasks of a workload have exited; the workload is deleted" : "tasks of a workload have exited",
        {{"WORKLOAD", id_text(before.at(id))}, {"TASKS", numbers_of(tasks)}});
  }
}

}  // namespace nrd
