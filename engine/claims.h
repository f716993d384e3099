// What nrd found before it touched a knob: as rows of the store, and what of it is still ours to put back.
#pragma once

#include "engine/node_state.h"
#include "store/records.h"

namespace nrd {

Baselines baselines_of(const store::Baselines& records);
// `added` as rows that `change` adds.
void add_baselines(store::Change& change, const Baselines& added);
// What is in both stays as it is in `baselines`.
void merge(Baselines& baselines, const Baselines& added);
// The baselines of `state` without those of knobs that no workload needs and that others have changed: these are theirs
// now.
Baselines still_ours(const NodeState& state);

}  // namespace nrd
