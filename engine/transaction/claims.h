// The baselines of settings that nrd owns: claimed before their first write, released when other software changed what
// no workload uses. Those of restored settings are released by Commits. Engine thread.
#pragma once

#include "base/result.h"
#include "engine/model/fwd.h"
#include "hw/rdt/types.h"

namespace nrd {

class Commits;
struct Proposal;

class Claims {
 public:
  Claims(Hardware& hardware, NodeState& state, Commits& commits)
      : hardware_(hardware), state_(state), commits_(commits) {}

  // Commits the present values of unclaimed settings that `proposal` changes, and the masks of threads that the kernel
  // overwrites with it: a crash before they are restored would lose them.
  Result<void> claim(Proposal& proposal);
  // Releases settings that no workload uses and that other software has changed since `before` held; `wanted` would
  // restore them.
  void release_changed(const rdt::Setting& before, const Setting& wanted);
  // Releases groups that exist although nrd removed them: other software has created them.
  void release_taken_groups();

 private:
  Hardware& hardware_;
  NodeState& state_;
  Commits& commits_;
};

}  // namespace nrd
