// What a change would do, without doing it. Pure, for any thread: it plans on the state it is given, which others may
// have changed by the time somebody asks for the same in earnest.
#pragma once

#include <vector>

#include "engine/model/setting.h"
#include "engine/plan/grant.h"
#include "engine/transaction/engine.h"

namespace nrd::plan {

struct DryRun {
  Workload workload;  // as it would be; the number of a new one is not its own yet
  std::vector<KnobChange> changes;
};

Result<DryRun> dry_run(const NodeState& state, const CreateWorkload& create, Time now);
Result<DryRun> dry_run(const NodeState& state, const PatchWorkload& patch, Time now);

}  // namespace nrd::plan
