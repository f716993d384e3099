// Checks for requests that are limited to the calling process (auth::Grant::Own).
//
// A client with the run role may create workloads owned by the calling process and read, change and delete these. All
// other workloads answer 404.
#pragma once

#include <optional>
#include <vector>

#include "api/routing/call.h"
#include "api/routing/problem.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

// The workload named in the path; nullptr if it does not exist or the request may not access it.
const Workload* addressed_workload(const routing::Call& call, const NodeState& state);

// A 403 if the new workload concerns other processes and the request is limited to its own; otherwise nullopt.
std::optional<routing::Problem> refuse_if_not_own(const routing::Call& call, const Spec& spec);
// The same for a patch.
std::optional<routing::Problem> refuse_if_not_own(const routing::Call& call, const SpecPatch& patch);

}  // namespace nrd::v1
