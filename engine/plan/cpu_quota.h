// Limits the CPUs of pools that a client with the role `run` takes for its workloads ([cpu.quotas]). Pure.
//
// Counted are the CPUs that its workloads alone use: granted from a pool, or core_ids inside pools; not idle siblings.
// What a workload has already is never refused, so that a smaller quota takes nothing away.
#pragma once

#include <optional>
#include <string>

#include "base/cpu_set.h"
#include "base/result.h"
#include "engine/model/cpu_quotas.h"
#include "engine/model/fwd.h"

namespace nrd::plan {

class CpuQuotaCheck {
 public:
  // For a change of the workload `before`, nullptr for a new one, by `user`; nullopt: a client without limits.
  CpuQuotaCheck(const NodeState& state, const Workload* before, const std::optional<LocalUser>& user)
      : state_(state), before_(before), user_(user) {}

  // Forbidden at /cpu/pool if `user` may not use `pool`, at the requested number if `cpus` of it, beside the `others`
  // that the workload gets from other pools, exceed the quota.
  Result<void> check(const CpuPool& pool, size_t others, const CpuRequest& request, size_t cpus) const;
  // The same for core_ids inside pools, at /core_ids.
  Result<void> check_core_ids(const CpuSet& cpus) const;

 private:
  Result<CpuQuota> quota(const char* field) const;
  Result<void> check_number(const CpuQuota& quota, size_t others, const char* field, size_t cpus) const;

  const NodeState& state_;
  const Workload* before_;
  const std::optional<LocalUser>& user_;
};

// True if `workload`, as planned, is new or has more CPUs of pools than in `state`: from then on it counts for the user
// of the change.
bool takes_cpus(const NodeState& state, const Workload& workload);

}  // namespace nrd::plan
