// Requests that are served as far as they are about the process that asks (auth::Grant::Own).
//
// Whoever may run a program with resources of its own may make a workload that this process owns, and see, change and
// delete it. What belongs to others is not there for him.
#pragma once

#include <optional>
#include <vector>

#include "api/v1/call.h"
#include "api/v1/problem.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

// The workload that the path names; nullptr if there is none, or none for this request.
const Workload* addressed_workload(const Call& call, const NodeState& state);

// What of a new workload reaches beyond the process that asks; nullopt: nothing, or it may.
std::optional<Problem> beyond_own(const Call& call, const Spec& spec);
// The same of a change.
std::optional<Problem> beyond_own(const Call& call, const SpecPatch& patch);

}  // namespace nrd::v1
