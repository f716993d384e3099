// nrd.slice as a partition of the host's CPUs: the kernel takes its CPUs from everything outside, unbound kernel
// threads included, and leaves them with it while nothing runs there (cgroup-v2.rst, "cpuset.cpus.partition"). Units
// start and end inside it without a change of any mask outside.
#pragma once

#include <string>

#include "base/result.h"
#include "hw/cpuset/types.h"
#include "hw/cpuset/units.h"

namespace nrd::cpuset {

// Of what is in nrd.slice, or would be.
Result<Masks> masks_of_partition();
// "root", "member", "root invalid (...)".
std::string kind_of_partition();
// Hardware with the kernel's reason: the partition is invalid, for example because another top-level cgroup asks for
// one of the CPUs.
Result<void> limit_partition(Units& units, const CpuSet& cpus, Deadline deadline);
// No partition any more: all may run on all CPUs again.
Result<void> release_partition(Units& units, Deadline deadline);

}  // namespace nrd::cpuset
