// Differences between two settings, and between a setting and the observed hardware. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "engine/model/fwd.h"
#include "hw/cpuset/types.h"
#include "hw/pstate/types.h"

namespace nrd {

// `setting` without the frequencies that equal those in `before`, so that one failing CPU does not block unrelated
// changes.
pstate::Setting changes(pstate::Setting setting, const pstate::Setting& before);
// Without the limits that targets have by `before` as well: the drift check holds these, so that a target in trouble
// fails no request about others.
Setting without_same_limits(Setting setting, const cpuset::Setting& before);
// `setting` without what confines the rest of the host.
Setting without_confinement(Setting setting);
// The CPU sets of `setting` that targets do not have in `observed`, and all that are restored.
cpuset::Setting changed_cpu_sets(const cpuset::Setting& setting, const cpuset::Observed& observed);
// `setting` without the shares of CPU time, the memory nodes, the latency limits, and the CPUs of work of the kernel,
// that `observed` has.
Setting without_applied(Setting setting, const Observed& observed);

// Only the frequencies of workloads on these CPUs.
Setting only_frequencies(const pstate::Setting& setting, const CpuSet& cpus);

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
