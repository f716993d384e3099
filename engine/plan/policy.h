// From the name of a policy to what it asks for. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"

namespace nrd::plan {

// The policy of this name; NoSuchPolicy if there is none.
Result<Policy> policy_named(const NodeState& state, const std::string& name);

// `spec` with what its policy asks for; where the policy is silent the spec's own stays. Without a policy as it is.
Result<Spec> filled(const NodeState& state, Spec spec);

// A refusal of what came from the policy of `spec`: the client wrote a name, so that is the field at fault. What he
// asked for himself, where the policy is silent, keeps its own.
Error blaming_policy(const NodeState& state, const Spec& spec, Error error);

}  // namespace nrd::plan
