// Expands the name of a policy to its request. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd::plan {

// The policy of this name; NoSuchPolicy if there is none.
Result<Policy> policy_named(const NodeState& state, const std::string& name);

// `spec` with the request of its policy; fields that the policy does not set keep the spec's values. Without a policy,
// `spec` unchanged.
Result<Spec> filled(const NodeState& state, Spec spec);

// Attributes a refusal of a policy's value to the policy field: the client wrote only the name. Fields that the policy
// does not set keep their own.
Error blaming_policy(const NodeState& state, const Spec& spec, Error error);

}  // namespace nrd::plan
