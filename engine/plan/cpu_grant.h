// CPUs of a workload from a configured pool. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/owner.h"
#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd::plan {

// `spec` with a request for cpu.default_pool, if it requests no CPUs and `origin` is that of a socket: such
// processes must not run on CPUs of others.
Spec with_default_pool(const NodeState& state, Spec spec, const std::string& origin);

// The CPUs that `workload` is granted for its requests, or for core_ids inside an exclusive pool, beside all others of
// `state`, for all of them or none; the other members are empty. A workload of `state` whose request is the same keeps
// what it has. Forbidden if it would exceed the quota of `quota_user`, also by core_ids inside pools.
Result<Grant> plan_cpus(const NodeState& state, const Workload& workload, const std::optional<LocalUser>& quota_user);

}  // namespace nrd::plan
