// What nrd found before it touched a knob: as rows of the store, and what of it is still ours to put back.
#pragma once

#include <map>
#include <vector>

#include "engine/model/node_state.h"
#include "store/records.h"

namespace nrd {

Baselines baselines_of(const store::Baselines& records);
// `added` as rows that `change` adds.
void add_baselines(store::Change& change, const Baselines& added);
// What is in both stays as it is in `baselines`, but for limits of bandwidth: one of another unit replaces the old one.
void merge(Baselines& baselines, const Baselines& added);
// The baselines of `state` without those of knobs that no workload needs and that others have changed: these are theirs
// now.
Baselines unsettled_baselines(const NodeState& state);

// What is to be given back of frequencies that are not as `wanted`, because others wrote on them; knob by knob, the
// newest. CPUs without anything new are left out, and so are those of `except` and of their domains.
std::map<CpuId, pstate::FrequencySetting> written_by_others(const NodeState& state, const pstate::Setting& wanted,
                                                            const CpuSet& except);

// Claims of tasks that no workload names any more, and that are settled: they are out of the class, or have ended, and
// it is empty or has others of its own.
std::vector<store::TaskClaim> settled_claims(const NodeState& state);

}  // namespace nrd
