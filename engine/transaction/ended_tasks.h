// Exited tasks, and workloads whose last task has exited. Pure.
#pragma once

#include <map>
#include <vector>

#include "engine/model/node_state.h"
#include "engine/plan/grant.h"

namespace nrd {

struct EndedTasks {
  Workloads workloads;                         // without these tasks, and without workloads that had nothing else
  std::map<WorkloadId, std::vector<Task>> of;  // exited tasks by workload
};
// Exited tasks according to the observation in `state`.
EndedTasks without_ended_tasks(const NodeState& state, Time now);

// True if any workload or rule references tasks.
bool names_tasks(const NodeState& state);

// Logs one line for each of these workloads.
void log_ended_tasks(const Workloads& before, const EndedTasks& ended);

}  // namespace nrd
