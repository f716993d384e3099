// Frequencies that other software writes while a workload sets them. nrd overwrites them, and restores them when the
// workload goes: tuned and cpupower do not write again at that moment. Engine thread.
//
// Their value is stored before it is overwritten, so that no crash loses it. It is an external value only if the
// hardware had applied the last setting completely, else it may be left from a failed write of nrd. And only if the CPU
// then accepts nrd's value: one that comes back is a limit of the kernel (thermal, turbo).
#pragma once

#include <map>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/result.h"
#include "engine/model/fwd.h"
#include "hw/pstate/types.h"

namespace nrd {

class Commits;
class HardwareSync;

class ExternalFrequencies {
 public:
  ExternalFrequencies(Hardware& hardware, NodeState& state, HardwareSync& sync, Commits& commits)
      : hardware_(hardware), state_(state), sync_(sync), commits_(commits) {}

  // Stores and overwrites what differs from `wanted` in a fresh observation. The CPUs of `except` were offline at the
  // last one and have values that the kernel gave them. Returns whether there was any.
  Result<bool> record(const Setting& wanted, const CpuSet& except);
  // The same for frequencies of the `present` setting that `next` is about to overwrite; observes them. A limit of the
  // kernel is reported as a problem and does not block changes to or deletion of a workload.
  Result<bool> record_before(const pstate::Setting& next, const pstate::Setting& present, const CpuSet& except);

 private:
  using Frequencies = std::map<CpuId, pstate::FrequencySetting>;
  void keep(Frequencies of_others);
  void forget_untaken(const Frequencies& before, const Setting& ours);

  Hardware& hardware_;
  NodeState& state_;
  HardwareSync& sync_;
  Commits& commits_;
};

}  // namespace nrd
