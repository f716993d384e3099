// CPUs of a workload from a configured pool. Pure.
#pragma once

#include <optional>

#include "base/result.h"
#include "engine/model/node_state.h"

namespace nrd::plan {

// What `workload` is granted for its request, beside all others of `state`; nullopt if it requests no CPUs of a pool. A
// workload of `state` whose request is the same keeps what it has. Forbidden if it would exceed the quota of
// `quota_user`, also by core_ids inside pools.
Result<std::optional<CpuGrant>> plan_cpus(const NodeState& state, const Workload& workload,
                                          const std::optional<LocalUser>& quota_user);

}  // namespace nrd::plan
