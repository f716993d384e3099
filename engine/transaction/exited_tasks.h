// Tasks that have ended, and workloads whose last one has. Pure.
#pragma once

#include <map>
#include <vector>

#include "engine/model/node_state.h"
#include "engine/plan/grant.h"

namespace nrd {

struct ExitedTasks {
  plan::Workloads workloads;                   // without those tasks, and without workloads that were for them alone
  std::map<WorkloadId, std::vector<Task>> of;  // who has ended, by workload
};
// As `state` has observed them.
ExitedTasks without_exited(const NodeState& state, Time now);

// There is somebody to refresh for.
bool names_tasks(const NodeState& state);

// A line of the journal for each of these workloads.
void log_exited(const plan::Workloads& before, const ExitedTasks& exited);

}  // namespace nrd
