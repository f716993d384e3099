// Where an operation goes, where it turns back to, and how far the node is from where it should be. Pure but for the
// questions to the node what a wish means here.
#pragma once

#include <optional>
#include <string>

#include "engine/onload/journey.h"
#include "engine/onload/view.h"

namespace nrd::onload {

// Refused if its generation is gone, or cannot be had on this node (any more).
Result<Way> way_of(Node& node, const View& view, const Operation& operation);

// Where `desired` leads, with the door as it is to be now and what is wanted of interfaces.
Result<Target> target_now(Node& node, const View& view, const Desired& desired);

// The same of the effective generation. nullopt: there is none.
std::optional<Result<Target>> target_in_force(Node& node, const View& view);

// What differs from it, in words; empty: nothing.
std::string drift_of(const Target& target, const Seen& seen);

}  // namespace nrd::onload
