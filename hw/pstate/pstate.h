// The frequencies of CPUs: what they can be, what they are set to, and setting them.
//
// Through cpufreq where a driver holds the CPU, otherwise through MSRs. Called by the engine thread only. Errors are
// Hardware with path, errno or register in `detail`; a setting that a CPU cannot have in any case (min above max, no
// knob for it) is BadRequest or Unsupported and refused before anything is written.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "hw/pstate/branch_counters.h"
#include "hw/pstate/types.h"

namespace nrd::pstate {

class Pstate {
 public:
  // Below `root` lie sys/devices/system/cpu, dev/cpu and proc/cpuinfo; "" is the host itself.
  explicit Pstate(std::string root = "") : root_(std::move(root)) {}

  // A node without any way to set frequencies is no error: see Node::missing.
  Result<Node> discover();
  // Of those of `cpus` that discover() found last. One that cannot be read is left out, whether it has gone offline
  // since or its driver has a fault: that is no reason not to see the others.
  Result<Observed> observe(const CpuSet& cpus);
  // What these CPUs run at, as far as it can be told. Slow: the kernel may have to wake each of them.
  std::map<CpuId, KHz> current(const CpuSet& cpus) const;
  // Writes what differs from what is read, in an order that the kernel accepts, and reads it back. What is read must be
  // what was wanted; the first CPU that does not take it is named with what it says instead.
  // CPUs that are not there any more are left out.
  // All CPUs are tried, whatever one of them says. The answer is those that could not be put back, or were not there.
  Result<CpuSet> converge(const Setting& wanted);

  // Counts branches on these CPUs and on no other; see BranchCounters.
  std::map<CpuId, BranchCounts> count_branches(const CpuSet& cpus) { return branches_.read(cpus); }

 private:
  CpuSet put_back(const std::map<CpuId, FrequencySetting>& before, const CpuSet& online) const;
  Result<void> set(const std::map<CpuId, FrequencySetting>& wanted, const CpuSet& online) const;

  std::string root_;
  Node node_;
  BranchCounters branches_;
  std::map<CpuId, CpuSet> threads_;  // of cores, as far as they were online together
  bool knows_branches_ = false;
  std::optional<std::string> cannot_count_branches_;
};

}  // namespace nrd::pstate
