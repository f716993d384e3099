// nrd.slice as a partition of the host's CPUs: the kernel takes its CPUs from everything outside, unbound kernel
// threads included, and leaves them with it while nothing runs there (cgroup-v2.rst, "cpuset.cpus.partition"). Units
// start and end inside it without a change of any mask outside.
#pragma once

#include <string>

#include "base/result.h"
#include "hw/cpuset/types.h"
#include "hw/cpuset/units.h"

namespace nrd::cpuset {

class Partition {
 public:
  explicit Partition(Units& units) : units_(units) {}

  // Of what is in nrd.slice, or would be.
  static Result<Masks> masks();
  // "root", "member", "root invalid (...)".
  static std::string kind();
  // Hardware with the kernel's reason: the partition is invalid, for example because another top-level cgroup asks for
  // one of the CPUs.
  Result<void> limit(const CpuSet& cpus, Deadline deadline);
  // No partition any more: all may run on all CPUs again.
  Result<void> release(Deadline deadline);

 private:
  Result<void> set(const CpuSet& cpus, const std::string& kind, Deadline deadline);

  Units& units_;
};

}  // namespace nrd::cpuset
