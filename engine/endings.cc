#include "engine/endings.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"

namespace nrd {
namespace {

// `workload` goes on with `left`, or not at all.
Result<plan::Workloads> ended(const NodeState& state, const Workload& workload, std::vector<Task> left, Time now) {
  if (left.empty() && workload.spec.cpus.empty()) return plan::remove(state, workload.id, state.shrink);
  if (left.empty()) {  // the caches that only they touched are given back
    SpecPatch patch;
    patch.tasks = std::move(left);
    return plan::patch(state, workload.id, patch, now, state.shrink);
  }
  plan::Workloads workloads = state.workloads;
  workloads.at(workload.id).spec.tasks = std::move(left);
  workloads.at(workload.id).updated = now;
  return workloads;
}

std::string numbers_of(const std::vector<Task>& tasks) {
  std::string text;
  for (const Task& task : tasks) text += (text.empty() ? "" : " ") + std::to_string(task.id);
  return text;
}

}  // namespace

Endings without_ended(const NodeState& state, Time now) {
  NodeState left = state;
  Endings endings;
  for (const auto& [id, workload] : state.workloads) {
    std::vector<Task> living;
    for (const Task& task : workload.spec.tasks) (has_ended(state, task) ? endings.of[id] : living).push_back(task);
    if (!endings.of.contains(id)) continue;
    Result<plan::Workloads> workloads = ended(left, left.workloads.at(id), std::move(living), now);
    if (workloads) {
      left.workloads = *std::move(workloads);
    } else {
      endings.of.erase(id);
    }
  }
  endings.workloads = std::move(left.workloads);
  return endings;
}

bool names_tasks(const NodeState& state) {
  const auto has_tasks = [](const auto& entry) { return !entry.second.spec.tasks.empty(); };
  return !state.baselines.tasks.empty() || !state.groups.infra_processes.empty() ||
         std::ranges::any_of(state.workloads, has_tasks);
}

void log_endings(const plan::Workloads& before, const Endings& endings) {
  for (const auto& [id, tasks] : endings.of) {
    const bool is_over = !endings.workloads.contains(id);
    log::notice(
        "TASKS_ENDED",
        is_over ? "all tasks of a workload have ended, and the workload with them" : "tasks of a workload have ended",
        {{"WORKLOAD", id_text(before.at(id))}, {"TASKS", numbers_of(tasks)}});
  }
}

}  // namespace nrd
