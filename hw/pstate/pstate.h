// CPU frequencies: discovering the limits, reading the settings, and changing them.
//
// Through cpufreq where the CPU has a driver, otherwise through MSRs. Called by the engine thread only. Errors are
// Hardware with path, errno or register in `detail`; a setting that is invalid on any CPU (min above max, no support
// for it) is BadRequest or Unsupported and refused before anything is written.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "hw/pstate/branch_counters.h"
#include "hw/pstate/msr_discovery.h"
#include "hw/pstate/types.h"

namespace nrd::pstate {

class Pstate {
 public:
  // `root` is prepended to sys/devices/system/cpu, dev/cpu and proc/cpuinfo; "" is the host itself.
  explicit Pstate(std::string root = "") : root_(std::move(root)) {}

  // A node that cannot set frequencies at all is no error: see Node::missing.
  Result<Node> discover();
  // The settings of those of `cpus` that the last discover() found. A CPU that cannot be read, because it went offline
  // or its driver has a fault, is left out and does not affect the others. CPUs in `last` are not interrupted: their
  // preference and their registers are as in `last`. Hardware: the driver is another one since.
  Result<Observed> observe(const CpuSet& cpus, const Observed& last = {});
  // The present frequencies of these CPUs, where known. Slow: the kernel may have to wake each of them.
  std::map<CpuId, KHz> current(const CpuSet& cpus) const;
  // Writes what differs from the present settings, in an order that the kernel accepts, and reads it back. Fails for
  // the first CPU that did not take its setting, with the value found instead. Skips offline CPUs. Tries all CPUs even
  // if one fails. Returns the CPUs that could not be restored, or are offline.
  Result<CpuSet> converge(const Setting& wanted);

  // Counts branches on exactly these CPUs; see BranchCounters.
  std::map<CpuId, BranchCounts> count_branches(const CpuSet& cpus) { return branches_.read(cpus); }

 private:
  Result<void> check_driver(const CpuSet& online) const;
  CpuSet put_back(const std::map<CpuId, FrequencySetting>& before, const CpuSet& online) const;
  Result<void> set(const std::map<CpuId, FrequencySetting>& wanted, const CpuSet& online) const;

  std::string root_;
  Node node_;
  BranchCounters branches_;
  KnownRegisters registers_;
  bool knows_branches_ = false;
  std::optional<std::string> cannot_count_branches_;
};

}  // namespace nrd::pstate
