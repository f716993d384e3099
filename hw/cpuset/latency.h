// The longest time that a CPU may take to leave an idle state:
// /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us (Documentation/ABI/testing/sysfs-devices-power). The
// kernel enters no state that takes longer.
//
// The file exists for each present CPU. An offline CPU keeps its limit, and it can be changed. `root` is prepended to
// sys; "" is the host itself.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// Empty: CPUs have limits.
std::string why_no_latency_limits(const std::string& root);
// Of these CPUs; those without a limit, and those whose limit cannot be read, are left out.
std::map<CpuId, LatencyLimit> observe_latency(const std::string& root, const CpuSet& cpus);
// Writes those that differ, and reads back. Hardware names the first CPU that did not take its limit; the others have
// theirs. A CPU that has been removed from the host is skipped.
Result<void> converge_latency(const std::string& root, const std::map<CpuId, LatencyLimit>& wanted);

}  // namespace nrd::cpuset
