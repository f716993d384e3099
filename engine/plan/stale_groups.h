// What to do about resctrl groups of others that are in the way of a request. RMD and pqos leave theirs behind. Pure.
#pragma once

#include <string>

#include "base/ids.h"
#include "engine/model/node_state.h"

namespace nrd::plan {

// For a refusal: how a group that is left over is removed. RMD's classes are "COS2" and so on, so all of them are named
// at once.
std::string how_to_free(const std::string& group);

// For a refusal over ways of `cache`, of which `wanted` would do: which groups of others hold some of these, and how
// they are freed. Empty if none does.
std::string held_by_others(const NodeState& state, CacheId cache, WayMask wanted);

}  // namespace nrd::plan
