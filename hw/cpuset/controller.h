// The cpuset controller of the host: switching it on, and what the kernel does to affinity masks with it.
#pragma once

#include <string>

#include "base/cpu_set.h"
#include "base/result.h"
#include "hw/cpuset/affinity.h"
#include "hw/cpuset/units.h"

namespace nrd::cpuset {

// Before Linux 6.2 a change of a cpuset overwrites the affinity of its tasks.
bool overwrites_affinity();

// Online, offline, or to be added while the host runs.
Result<CpuSet> possible_cpus();

// What units of this slice may run on, whether or not it exists now.
Result<CpuSet> cpus_of_slice(const std::string& slice);

// Why the controller must not be enabled here; empty: it may be, or it is.
std::string why_not_enabled();

// Has systemd enable the controller below the root and, before Linux 6.2, below `slice`, so that it stays enabled until
// the next boot whatever units come and go. Threads keep the masks that such a kernel overwrites by that.
Result<void> enable_controller(Units& units, const std::string& slice, Deadline deadline);
inline constexpr const char* kRootSlice = "-.slice";

// The masks that such a kernel overwrites when the cpuset of `cgroup` changes, whose processes may run on `all`. None
// on later kernels, which keep the mask that a thread chose, and without a cgroup.
Result<PinnedThreads> kept_masks(const std::string& cgroup, const CpuSet& all);
// The same, while cpusets change all over the host.
Result<PinnedThreads> kept_masks_of_host();

}  // namespace nrd::cpuset
