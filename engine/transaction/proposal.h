// Planned workloads and the setting with them: what a transaction claims, converges and commits. The setting is
// computed once for a change, and again only if something that it depends on has changed since.
#pragma once

#include "engine/model/setting.h"

namespace nrd {

struct Proposal {
  Workloads workloads;
  Setting setting;
};

// Gives each changed workload its next revision: the only place that does.
Proposal propose(const NodeState& state, Workloads planned);

}  // namespace nrd
