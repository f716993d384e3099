// Workloads that end with their unit or cgroup. Pure.
#pragma once

#include <set>

#include "engine/model/node_state.h"

namespace nrd {

struct EndedGroups {
  Workloads workloads;         // without those that have ended, and with what has come noted
  std::set<WorkloadId> ended;  // no process any more, or none in time
  std::set<WorkloadId> come;   // the first process since the creation
};
// According to the observation in `state`. An absent one has ended after a restart of nrd or of the host as well.
EndedGroups without_ended_groups(const NodeState& state, Time now);

// Logs one line for each that has ended.
void log_ended(const Workloads& before, const EndedGroups& groups);

}  // namespace nrd
