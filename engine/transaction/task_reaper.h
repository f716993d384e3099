// Follows the tasks of workloads: removes exited ones, deletes workloads that had nothing else, and moves new threads
// of known processes. Engine thread.
#pragma once

#include "engine/transaction/claims.h"
#include "engine/transaction/frequency_governor.h"

namespace nrd {

class TaskReaper {
 public:
  TaskReaper(const Clock& clock, NodeState& state, HardwareSync& sync, Commits& commits, Claims& claims,
             FrequencyGovernor& governor)
      : clock_(clock), state_(state), sync_(sync), commits_(commits), claims_(claims), governor_(governor) {}

  void reap();
  // Those that the last observation did not find, and workloads whose unit or cgroup has ended. A failure is tried
  // again with the next call.
  void remove_ended();

 private:
  bool apply(const Workloads& workloads);

  const Clock& clock_;
  NodeState& state_;
  HardwareSync& sync_;
  Commits& commits_;
  Claims& claims_;
  FrequencyGovernor& governor_;
};

}  // namespace nrd
