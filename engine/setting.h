// What the hardware must say now, computed from the workloads. The only place that knows.
#pragma once

#include <string>
#include <vector>

#include "engine/hardware.h"
#include "engine/node_state.h"
#include "store/records.h"

namespace nrd {

// The setting of `state`: every knob that nrd owns says its baseline, and on top of that each workload's class has its
// ways, its online CPUs are in that class, and on each cache with a workload the root class (the OS) has all ways below
// the first one in use, at least the OS floor.
Setting setting_of(const NodeState& state);

// The knobs of `setting` that have no baseline yet, with the value `observed` shows for them. A knob that `observed`
// does not show has none either: the converge that follows refuses it.
Baselines unclaimed(const Setting& setting, const Baselines& baselines, const Observed& observed);

// `observed` after `setting` was converged to.
Observed overlaid(Observed observed, const Setting& setting);

// The knobs of which `observed` says something else, in words, for the journal: "COS3 ways on cache 0: 7ff, not 600".
std::vector<std::string> differences(const Setting& setting, const Observed& observed);

}  // namespace nrd
