// Follows the tasks of workloads: removes exited ones, deletes workloads that had nothing else, and moves new threads
// of known processes. Engine thread.
#pragma once

#include "base/clock.h"
#include "base/cpu_set.h"
#include "engine/model/fwd.h"
#include "engine/transaction/ended.h"

namespace nrd {

class Claims;
class Commits;
class HardwareSync;
class WorkloadChanges;

class TaskReaper {
 public:
  TaskReaper(const Clock& clock, NodeState& state, HardwareSync& sync, Commits& commits, Claims& claims,
             WorkloadChanges& changes)
      : clock_(clock), state_(state), sync_(sync), commits_(commits), claims_(claims), changes_(changes) {}

  void reap();
  // Those that the last observation did not find, and workloads whose unit or cgroup has ended. A failure is tried
  // again with the next call. `came`: CPUs that have come online since the observation before.
  void remove_ended(const CpuSet& came = {});

 private:
  const Clock& clock_;
  NodeState& state_;
  HardwareSync& sync_;
  Commits& commits_;
  Claims& claims_;
  WorkloadChanges& changes_;
  ArrivalDeadlines deadlines_;
};

}  // namespace nrd
