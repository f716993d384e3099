// Changes of workloads: those of requests, which Transaction commits together, and nrd's own, which it makes after what
// it observed. Engine thread.
#pragma once

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd {

class Claims;
class Commits;
class ExternalFrequencies;
class FrequencyGovernor;
class HardwareSync;
struct Proposal;

class WorkloadChanges {
 public:
  WorkloadChanges(Hardware& hardware, const Clock& clock, NodeState& state, HardwareSync& sync, Commits& commits,
                  Claims& claims, ExternalFrequencies& externals, FrequencyGovernor& governor)
      : hardware_(hardware),
        clock_(clock),
        state_(state),
        sync_(sync),
        commits_(commits),
        claims_(claims),
        externals_(externals),
        governor_(governor) {}

  // Claims, converges, and puts the workloads into the state, to be committed. Failed: hardware and workloads are as
  // before. `came`: CPUs that were offline at the last observation, and have frequencies that the kernel gave them.
  Result<void> carry_out(Proposal proposal, const CpuSet& came = {});
  // nrd's own. Returns whether it is committed.
  bool apply(const Workloads& workloads, const CpuSet& came = {});
  // Of the workloads that lack ways those for which there are some now (engine/plan/lost_ways.h).
  void grant_lost_ways();

 private:
  Hardware& hardware_;
  const Clock& clock_;
  NodeState& state_;
  HardwareSync& sync_;
  Commits& commits_;
  Claims& claims_;
  ExternalFrequencies& externals_;
  FrequencyGovernor& governor_;
};

}  // namespace nrd
