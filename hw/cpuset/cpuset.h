// Limits processes to CPUs, and tells what CPUs share.
#pragma once

#include <set>

#include "base/result.h"
#include "hw/cpuset/groups.h"
#include "hw/cpuset/scopes.h"
#include "hw/cpuset/topology.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// To be made before other threads start.
class Cpuset {
 public:
  Result<Node> discover();
  // Targets that have ended are left out.
  Result<Observed> observe(const std::set<Target>& targets);
  // Hardware names the target whose effective set is another one after the write. Busy: systemd has not answered in
  // time.
  Result<void> converge(const Setting& wanted);

 private:
  Result<void> limit(const Target& target, const CpuSet& cpus, Deadline deadline);
  Result<void> release(const Target& target, const Masks& before, Deadline deadline);

  Topology topology_;
  Units units_;
  Scopes scopes_{units_};
  Groups groups_{units_};
};

}  // namespace nrd::cpuset
