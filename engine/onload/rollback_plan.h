// The forward and rollback targets of an operation, and the drift of the node. Pure except for resolving specs on the
// node.
#pragma once

#include <optional>
#include <string>

#include "engine/onload/operation_runner.h"
#include "engine/onload/status.h"

namespace nrd::onload {

// Fails if its generation was deleted or its version cannot be loaded (any more).
Result<RollbackPlan> plan_of(Host& node, const Status& status, const Operation& operation);

// The target of `spec`, with the current device access and interface settings.
Result<Target> target_now(Host& node, const Status& status, const Spec& spec);

// The target of the effective generation. nullopt: there is none.
std::optional<Result<Target>> target_in_force(Host& node, const Status& status);

// How the node differs from the target; empty: not at all.
std::string drift_of(const Target& target, const ObservedState& observed);

}  // namespace nrd::onload
