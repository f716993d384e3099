#include "engine/plan/policy.h"

#include <utility>

#include "base/find_in.h"

namespace nrd::plan {
namespace {

constexpr const char* kPolicyField = "/policy";

std::string names_of(const NodeState& state) {
  if (!state.config->policies) return "none: no policies are configured here";
  std::string names;
  for (const auto& [name, policy] : *state.config->policies) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

Result<Policy> policy_named(const NodeState& state, const std::string& name) {
  const Policies* policies = state.config->policies.get();
  if (const Policy* found = policies ? find_in(*policies, name) : nullptr) return *found;
  return Failure(Error{.code = ErrorCode::NoSuchPolicy,
                       .field = kPolicyField,
                       .message = "there is no such policy",
                       .detail = {},
                       .allowed = names_of(state),
                       .subject = name});
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
  error.message = "policy " + spec.policy + ", " + error.field.substr(1) + ": " + error.message;
  error.field = kPolicyField;
  return error;
}

}  // namespace nrd::plan
