// Where an operation goes, where it turns back to, and how far the node is from where it should be. Pure but for the
// questions to the node what a spec means here.
#pragma once

#include <optional>
#include <string>

#include "engine/onload/operation_runner.h"
#include "engine/onload/status.h"

namespace nrd::onload {

// Refused if its generation is gone, or cannot be had on this node (any more).
Result<RollbackPlan> plan_of(Host& node, const Status& status, const Operation& operation);

// Where `spec` leads, with the device_access as it is to be now and what is wanted of interfaces.
Result<Target> target_now(Host& node, const Status& status, const Spec& spec);

// The same of the effective generation. nullopt: there is none.
std::optional<Result<Target>> target_in_force(Host& node, const Status& status);

// What differs from it, in words; empty: nothing.
std::string drift_of(const Target& target, const Seen& seen);

}  // namespace nrd::onload
