// What a change would do, without doing it. Pure, for any thread: it plans on the state it is given, which others may
// have changed by the time somebody asks for the same in earnest.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "engine/plan/grant.h"
#include "engine/setting.h"

namespace nrd::plan {

struct Foretold {
  Workload workload;  // as it would be; the number of a new one is not its own yet
  std::vector<KnobChange> changes;
};

Result<Foretold> foretell(const NodeState& state, const CreateWorkload& create, Time now);
Result<Foretold> foretell(const NodeState& state, const PatchWorkload& patch, Time now);

}  // namespace nrd::plan
