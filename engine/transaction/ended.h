// Exited tasks and ended units and cgroups, and the workloads that end with them. Pure but for
// log_ended().
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <vector>

#include "engine/model/fwd.h"
#include "engine/model/workloads.h"

namespace nrd {

struct EndedTasks {
  Workloads workloads;                         // without these tasks, and without workloads that had nothing else
  std::map<WorkloadId, std::vector<Task>> of;  // exited tasks by workload
};
// Exited tasks according to the observation in `state`.
EndedTasks without_ended_tasks(const NodeState& state, Time now);

// True if any workload or rule references tasks.
bool names_tasks(const NodeState& state);

// How long workloads have waited for the first process of their unit or cgroup. Steps of the wall clock do not count
// while nrd runs: it may be set to the right time long after the host has started.
class ArrivalDeadlines {
 public:
  using Steady = std::chrono::steady_clock::time_point;
  // Those of `workloads` that have waited too long. Call it at the start, and often.
  std::set<WorkloadId> passed(const Workloads& workloads, Time now, Steady steady);

 private:
  struct Wait {
    Time named{};    // since when the workload waits
    Steady begin{};  // the same moment; `within_seconds` may change meanwhile
  };
  std::map<WorkloadId, Wait> waits_;
  bool is_first_ = true;  // of the calls
};

struct EndedGroups {
  Workloads workloads;         // without those that have ended; `has_come` is set of those in `come`
  std::set<WorkloadId> ended;  // no process any more, or none in time
  std::set<WorkloadId> come;   // the first process since the creation
};
// According to the observation in `state`. An absent one has ended after a restart of nrd or of the host as well.
// `late`: workloads whose process must have come.
EndedGroups without_ended_groups(const NodeState& state, const std::set<WorkloadId>& late);

// Log one line for each of these workloads.
void log_ended(const Workloads& before, const EndedTasks& ended);
void log_ended(const Workloads& before, const EndedGroups& ended);

}  // namespace nrd
