// Baselines: the values that settings had before nrd first wrote them, and which of them nrd must still
// restore.
#pragma once

#include <map>
#include <vector>

#include "engine/model/node_state.h"

namespace nrd {

// An existing entry of `baselines` wins, except of noise, where an added one has more.
void merge(Baselines& baselines, const Baselines& added);
// The values of `setting` without a baseline, as observed in `state`. A value that was not observed is left out: see
// unreadable().
Baselines unclaimed(const NodeState& state, const Setting& setting);

// CPUs whose frequency `setting` sets while their previous value is unknown.
CpuSet unreadable(const NodeState& state, const Setting& setting);

// Do not touch unclaimed settings: they could not be restored. Tasks moving back need no claim.
Setting without_unclaimed(Setting setting, const Baselines& baselines);
// The baselines of `state` without those of settings that no workload uses and that other software has changed. nrd no
// longer restores these. `before` is the setting before `state` was observed.
Baselines owned_baselines(const NodeState& state, const rdt::Setting& before);

// The frequencies to restore at release where other software has overwritten what is `wanted`; the newest value of each
// setting. Leaves out CPUs without a new value, and those of `except` and their frequency domains.
std::map<CpuId, pstate::FrequencySetting> written_by_others(const NodeState& state, const pstate::Setting& wanted,
                                                            const CpuSet& except);

// Claims of tasks that no workload references any more and that need no further work: the task is in another class or
// has exited, and the class is empty or has tasks of other software.
std::vector<TaskClaim> finished_task_claims(const NodeState& state);

}  // namespace nrd
