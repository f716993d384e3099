// What the hardware must say now, computed from the workloads. The only place that knows.
#pragma once

#include <string>
#include <vector>

#include "engine/hardware.h"
#include "engine/model/node_state.h"
#include "store/records.h"

namespace nrd {

// The setting of `state`: every knob that nrd owns says its baseline, and on top of that each class has the ways of
// ways_in_use(), and each workload's online CPUs are in its class. CPUs with a frequency of their own have its window.
Setting setting_of(const NodeState& state);

// The ways of workloads and of the infrastructure, and on each cache where they have some what is left for the others:
// os_ways() for the root class, and for every class that has no ways there but a task or a CPU that may run there.
std::map<ClosId, std::map<CacheId, WayMask>> ways_in_use(const NodeState& state);

// The knobs of `setting` that have no baseline yet, with the value `state` has observed for them. A knob that was not
// observed has none either: see unreadable().
Baselines unclaimed(const NodeState& state, const Setting& setting);

// CPUs whose frequency `setting` sets, and of which nobody knows what they were set to before.
CpuSet unreadable(const NodeState& state, const Setting& setting);

// `setting` without the frequencies that are the same in `before`: one CPU that does not take its value any more is
// nothing that a change of others has to do with.
Setting changes(Setting setting, const Setting& before);

// Only the frequencies of workloads on these CPUs.
Setting only_frequencies(const Setting& setting, const CpuSet& cpus);

// Only what `setting` says about tasks.
Setting tasks_of(Setting setting);

// `observed` after `setting` was converged to.
Observed with_applied(Observed observed, const Setting& setting);

struct KnobChange {
  std::string knob;  // "COS3 ways on cache 0", "class of CPU 4", "frequency of CPU 4"
  std::string from;
  std::string to;
  friend bool operator==(const KnobChange&, const KnobChange&) = default;
};
// The knobs of which `observed` says something else.
std::vector<KnobChange> knob_changes(const Setting& setting, const Observed& observed);
// In words, for the journal: "COS3 ways on cache 0: 7ff, not 600".
std::string text_of(const KnobChange& change);
// All of knob_changes() in words.
std::vector<std::string> differences(const Setting& setting, const Observed& observed);

}  // namespace nrd
