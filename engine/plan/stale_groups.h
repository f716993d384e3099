// Advice about foreign resctrl groups that block a request. RMD and pqos leave theirs behind. Pure.
#pragma once

#include <string>

#include "base/ids.h"
#include "engine/model/node_state.h"

namespace nrd::plan {

// For a refusal: how to remove a leftover group. RMD names its groups "COS2" and so on, so the pattern covers all of
// them.
std::string how_to_free(const std::string& group);

// For a refusal over ways of `cache`, of which `wanted` would suffice: which foreign groups hold some of them, and how
// to free them. Empty if none does.
std::string held_by_others(const NodeState& state, CacheId cache, WayMask wanted);

}  // namespace nrd::plan
