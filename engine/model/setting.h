// The setting of the hardware, computed from the workloads. Nothing else computes it.
#pragma once

#include <string>
#include <vector>

#include "engine/hardware.h"
#include "engine/model/node_state.h"
#include "store/records.h"

namespace nrd {

// The setting of `state`: the baseline of every setting that nrd owns, then for each class the ways of ways_in_use(),
// for each workload's online CPUs its class, and for CPUs with a requested frequency its window.
Setting setting_of(const NodeState& state);

// The part of it about frequencies alone.
pstate::Setting frequency_setting_of(const NodeState& state);

// The ways of workloads and of the infrastructure, and on each of their caches the remaining ways for all others:
// os_ways() for the root class and for every class without ways there that has a task or a CPU that may run there.
std::map<ClosId, std::map<CacheId, WayMask>> ways_in_use(const NodeState& state);

// The values of `setting` without a baseline, as observed in `state`. A value that was not observed is left out: see
// unreadable().
Baselines unclaimed(const NodeState& state, const Setting& setting);

// CPUs whose frequency `setting` sets while their previous value is unknown.
CpuSet unreadable(const NodeState& state, const Setting& setting);

// `setting` without the frequencies that equal those in `before`, so that one failing CPU does not block unrelated
// changes.
Setting changes(Setting setting, const pstate::Setting& before);

// Only the frequencies of workloads on these CPUs.
Setting only_frequencies(const Setting& setting, const CpuSet& cpus);

// Only the task assignments of `setting`.
Setting tasks_of(Setting setting);

// `observed` after converging to `setting`.
Observed with_applied(Observed observed, const Setting& setting);

struct KnobChange {
  std::string knob;  // "COS3 ways on cache 0", "class of CPU 4", "frequency of CPU 4"
  std::string from;
  std::string to;
  friend bool operator==(const KnobChange&, const KnobChange&) = default;
};
// The settings that differ in `observed`.
std::vector<KnobChange> knob_changes(const Setting& setting, const Observed& observed);
// As text for the journal: "COS3 ways on cache 0: 7ff, not 600".
std::string text_of(const KnobChange& change);
// All of knob_changes() as text.
std::vector<std::string> differences(const Setting& setting, const Observed& observed);

}  // namespace nrd
