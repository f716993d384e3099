// Computes the effect of a change without applying it. Pure, for any thread: it plans on the given state, which may
// have changed by the time the same change is requested.
#pragma once

#include <vector>

#include "engine/model/setting_changes.h"
#include "engine/plan/grant.h"
#include "engine/transaction/engine.h"

namespace nrd::plan {

struct DryRun {
  Workload workload;  // after the change; a new one has no final id yet
  std::vector<KnobChange> changes;
};

Result<DryRun> dry_run(const NodeState& state, const CreateWorkload& create, Time now);
Result<DryRun> dry_run(const NodeState& state, const PatchWorkload& patch, Time now);
Result<DryRun> dry_run(const NodeState& state, const PutWorkload& wanted, Time now);

}  // namespace nrd::plan
