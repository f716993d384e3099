// Where an operation goes, where it turns back to, and how far the node is from where it should be. Pure but for the
// questions to the node what a wish means here.
#pragma once

#include "engine/onload/journey.h"
#include "engine/onload/view.h"

namespace nrd::onload {

// Refused if its generation is gone, or cannot be had on this node (any more).
Result<Way> way_of(Node& node, const View& view, const Operation& operation);

// Where `desired` leads, with the door as it is to be now.
Result<Target> target_now(Node& node, const View& view, const Desired& desired);

// What differs from the effective generation, in words; empty: nothing.
std::string drift_of(Node& node, const View& view);

}  // namespace nrd::onload
