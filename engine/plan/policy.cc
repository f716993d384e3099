#include "engine/plan/policy.h"

#include <fmt/core.h>

#include "base/find_in.h"
#include "base/joined.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/policies.h"

namespace nrd::plan {
namespace {

constexpr const char* kPolicyField = "/policy";

}  // namespace

Result<Policy> policy_named(const NodeState& state, const std::string& name) {
  const Policies* policies = state.config->policies.get();
  if (const Policy* found = policies ? find_in(*policies, name) : nullptr) return *found;
  return fail_at(
      ErrorCode::NoSuchPolicy, kPolicyField, "there is no such policy",
      policies ? joined(*policies, ", ", &Policies::value_type::first) : "none: no policies are configured here", name);
}

Result<Spec> filled(const NodeState& state, Spec spec) {
  if (spec.policy.empty()) return spec;
  const Policy policy = TRY(policy_named(state, spec.policy));
  if (policy.cache) spec.cache = policy.cache;
  if (policy.mba) spec.mba = policy.mba;
  if (policy.frequency) spec.frequency = policy.frequency;
  return spec;
}

Error blaming_policy(const NodeState& state, const Spec& spec, Error error) {
  const Result<Policy> policy = policy_named(state, spec.policy);
  if (!policy) return error;
  const bool is_of_policy = (policy->cache && error.field.starts_with("/cache")) ||
                            (policy->mba && error.field.starts_with("/rdt/mba")) ||
                            (policy->frequency && error.field.starts_with("/pstate"));
  if (!is_of_policy) return error;
  error.message = fmt::format("policy {}, {}: {}", spec.policy, error.field.substr(1), error.message);
  error.field = kPolicyField;
  return error;
}

}  // namespace nrd::plan
