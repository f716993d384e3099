#include "engine/transaction/foreign_group_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/find_in.h"
#include "base/joined.h"
#include "base/log.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_state.h"
#include "engine/transaction/hardware_sync.h"

namespace nrd {

void ForeignGroupWatch::remove_old_leftovers() {
  std::set<ClosId> found = leftover_groups(state_);
  std::set<ClosId> twice;
  std::ranges::set_intersection(found, leftovers_, std::inserter(twice, twice.end()));
  leftovers_ = std::move(found);
  remove(std::move(twice));
}

void ForeignGroupWatch::remove(std::set<ClosId> leftovers) {
  if (leftovers.empty()) return;
  Setting wanted;
  wanted.rdt.removed = std::move(leftovers);
  if (!sync_.write(wanted)) return;
  log::notice("GROUPS_REMOVED", "removed empty resctrl groups left by libpqos or pqos",
              {{"COUNT", std::to_string(wanted.rdt.removed.size())}});
}

void ForeignGroupWatch::report_sharing() {
  if (sharing_.empty() && foreign_groups(state_).empty()) return;
  std::map<WorkloadId, std::set<std::string>> sharing;
  for (const auto& [id, workload] : state_.workloads) {
    std::set<std::string> names = sharing_groups(state_, workload);
    if (!names.empty()) sharing.emplace(id, std::move(names));
  }
  for (const auto& [id, names] : sharing) {
    const auto* before = find_in(sharing_, id);
    if (before && *before == names) continue;
    log::warning("WAYS_SHARED", "foreign resctrl groups may fill the ways of a workload",
                 {{"WORKLOAD", id_text(state_.workloads.at(id))}, {"GROUPS", joined(names, " ")}});
  }
  for (const auto& [id, names] : sharing_) {
    const Workload* workload = find_in(state_.workloads, id);
    if (!workload || sharing.contains(id)) continue;
    log::notice("WAYS_EXCLUSIVE", "the ways of a workload are exclusive again", {{"WORKLOAD", id_text(*workload)}});
  }
  sharing_ = std::move(sharing);
}

}  // namespace nrd
