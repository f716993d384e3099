// Changes of workloads without a request: nrd makes them after what it observed. Engine thread.
#pragma once

#include "engine/transaction/claims.h"
#include "engine/transaction/frequency_governor.h"

namespace nrd {

class OwnChanges {
 public:
  OwnChanges(const Clock& clock, NodeState& state, HardwareSync& sync, Commits& commits, Claims& claims,
             FrequencyGovernor& governor)
      : clock_(clock), state_(state), sync_(sync), commits_(commits), claims_(claims), governor_(governor) {}

  // Returns whether it is committed.
  bool apply(const Workloads& workloads);
  // Of the workloads that lack ways those for which there are some now (engine/plan/lost_ways.h).
  void grant_lost_ways();

 private:
  const Clock& clock_;
  NodeState& state_;
  HardwareSync& sync_;
  Commits& commits_;
  Claims& claims_;
  FrequencyGovernor& governor_;
};

}  // namespace nrd
