// Restores granted settings that other software changed, drops claims on unused settings that it changed, and retries
// what failed before. Runs at an interval and after CPU hotplug. Engine thread.
#pragma once

#include "base/cpu_set.h"
#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd {

class Claims;
class Commits;
class ExternalFrequencies;
class ForeignGroupWatch;
class HardwareSync;
class TaskReaper;

class Drift {
 public:
  Drift(Hardware& hardware, NodeState& state, HardwareSync& sync, Commits& commits, Claims& claims,
        ExternalFrequencies& externals, ForeignGroupWatch& groups, TaskReaper& reaper)
      : hardware_(hardware),
        state_(state),
        sync_(sync),
        commits_(commits),
        claims_(claims),
        externals_(externals),
        groups_(groups),
        reaper_(reaper) {}

  // `changed`: CPUs that went online or offline; empty at the interval.
  void repair(const CpuSet& changed);

 private:
  Result<void> observe();
  // `came`: CPUs that were offline before.
  Result<void> restore(Setting wanted, const CpuSet& came);

  Hardware& hardware_;
  NodeState& state_;
  HardwareSync& sync_;
  Commits& commits_;
  Claims& claims_;
  ExternalFrequencies& externals_;
  ForeignGroupWatch& groups_;
  TaskReaper& reaper_;
};

}  // namespace nrd
