// Adaptive frequency of monitored CPUs: samples their branches and sets their speed. Engine thread.
#pragma once

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd {

class ExternalFrequencies;
class HardwareSync;

class FrequencyGovernor {
 public:
  FrequencyGovernor(Hardware& hardware, const Clock& clock, NodeState& state, HardwareSync& sync,
                    ExternalFrequencies& externals)
      : hardware_(hardware), clock_(clock), state_(state), sync_(sync), externals_(externals) {}

  // One sample, and the changes of speed that follow. False if no CPU is monitored.
  bool govern();
  // A new workload starts with fresh state, also on the CPUs of one that was just deleted.
  void reset();
  // Checks that the branches of all CPUs that `planned` newly monitors can be counted.
  Result<void> check_counters(const Workloads& planned);

 private:
  void note_uncounted(CpuSet cpus);

  Hardware& hardware_;
  const Clock& clock_;
  NodeState& state_;
  HardwareSync& sync_;
  ExternalFrequencies& externals_;
  bool counts_branches_ = false;  // counters may be open
};

}  // namespace nrd
