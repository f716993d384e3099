// Watches groups that nrd did not create: removes leftovers of libpqos, and reports who shares the ways of a workload.
// Engine thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/ids.h"
#include "engine/model/foreign_groups.h"

namespace nrd {

class HardwareSync;

class ForeignGroupWatch {
 public:
  ForeignGroupWatch(NodeState& state, HardwareSync& sync) : state_(state), sync_(sync) {}

  // Other software needs the classes of leftovers. They hold nothing, so there is nothing to restore or to claim.
  void remove_leftovers() { remove(leftover_groups(state_)); }
  // Those that the last call found as well: one may just be being set up by the program that created it.
  void remove_old_leftovers();
  // Reports the changes since the last call.
  void report_sharing();

 private:
  void remove(std::set<ClosId> leftovers);

  NodeState& state_;
  HardwareSync& sync_;
  std::set<ClosId> leftovers_;
  std::map<WorkloadId, std::set<std::string>> sharing_;  // reported
};

}  // namespace nrd
