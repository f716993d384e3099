#include "engine/transaction/exited_tasks.h"

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

ExitedTasks without_exited(const NodeState& state, Time now) {
  ExitedTasks exited;
  std::map<WorkloadId, std::vector<Task>> left;
  for (const auto& [id, workload] : state.workloads) {
    std::vector<Task> living;
    for (const Task& task : workload.spec.tasks) (has_ended(state, task) ? exited.of[id] : living).push_back(task);
    if (exited.of.contains(id)) left.emplace(id, std::move(living));
  }
  exited.workloads = plan::without_tasks(state, left, now);
  return exited;
}

bool names_tasks(const NodeState& state) {
  const auto has_tasks = [](const auto& entry) {
    return !entry.second.spec.tasks.empty() || group_target(entry.second.spec);
  };
  return !state.baselines.tasks.empty() || !state.baselines.cpu_sets.empty() ||
         !state.config->groups.infra_processes.empty() || std::ranges::any_of(state.workloads, has_tasks);
}

void log_exited(const Workloads& before, const ExitedTasks& exited) {
  for (const auto& [id, tasks] : exited.of) {
    const bool is_over = !exited.workloads.contains(id);
    log::notice(
        "TASKS_ENDED",
        is_over ? "all tasks of a workload have exited; the workload is deleted" : "tasks of a workload have exited",
        {{"WORKLOAD", id_text(before.at(id))}, {"TASKS", numbers_of(tasks)}});
  }
}

}  // namespace nrd
