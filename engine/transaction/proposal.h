// Planned workloads and the setting with them: what a transaction claims, converges and commits. The setting is
// computed once for a change, and again only if something that it depends on has changed since.
#pragma once

#include <optional>
#include <vector>

#include "engine/model/setting.h"
#include "engine/model/setting_changes.h"

namespace nrd {

struct Proposal {
  Workloads workloads;
  Setting setting;
};

// Gives each changed workload its next revision: the only place that does.
Proposal propose(const NodeState& state, Workloads planned);

// What `setting`, of planned workloads, would change, and the memory that would move before. Also of other workloads.
std::vector<KnobChange> changes_by(const NodeState& state, Setting setting,
                                   const std::optional<cpuset::MemoryChange>& move);

}  // namespace nrd
