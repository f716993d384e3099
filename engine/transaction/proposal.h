// Planned workloads and the setting with them: what a transaction claims, converges and commits. The settings are
// computed once for a change, and again only if something that they depend on has changed since.
#pragma once

#include <optional>
#include <vector>

#include "engine/hardware.h"
#include "engine/model/setting.h"
#include "engine/model/setting_changes.h"
#include "engine/model/workloads.h"

namespace nrd {

struct Proposal {
  Workloads workloads;
  Setting setting;
  pstate::Setting present{};  // frequencies without the change; empty where all of `setting` is applied
};

Proposal proposal_of(const NodeState& state, Workloads workloads);

// Gives each changed workload its next revision: the only place that does.
Proposal propose(const NodeState& state, Workloads planned);

// `setting`, of planned workloads, without the cpusets that targets have already, or should have without the change.
Setting without_present_cpusets(Setting setting, const NodeState& state);
// Busy if memory moves and `proposal` would change a cpuset. One that only waits for the pages fails no request.
Result<void> check_no_memory_moves(const NodeState& state, const Proposal& proposal);

// What `proposal` would change, and the memory that would move before. Also of other workloads.
std::vector<KnobChange> changes_by(const NodeState& state, Proposal proposal,
                                   const std::optional<cpuset::MemoryChange>& move);

}  // namespace nrd
