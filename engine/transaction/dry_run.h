// What a dry run answers. Pure.
#pragma once

#include <optional>
#include <vector>

#include "engine/model/node_state.h"
#include "engine/model/setting_changes.h"

namespace nrd {

// What `setting`, of planned workloads, would change, and the memory that would move before. Also of other workloads.
std::vector<KnobChange> changes_by(const NodeState& state, Setting setting,
                                   const std::optional<cpuset::MemoryChange>& move);

}  // namespace nrd
