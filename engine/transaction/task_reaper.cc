#include "engine/transaction/task_reaper.h"

#include <utility>

#include "base/log.h"
#include "engine/model/baselines.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/node_state.h"
#include "engine/model/setting_changes.h"
#include "engine/transaction/claims.h"
#include "engine/transaction/commits.h"
#include "engine/transaction/ended.h"
#include "engine/transaction/hardware_sync.h"
#include "engine/transaction/proposal.h"
#include "engine/transaction/workload_changes.h"

namespace nrd {

void TaskReaper::reap() {
  if (!names_tasks(state_) || !commits_.resolve()) return;
  if (const Result<void> refreshed = sync_.refresh_with_infra({}); !refreshed)
    return sync_.note_problem(refreshed.error());
  remove_ended();
  Proposal present{state_.workloads, setting_of(state_)};
  if (const Result<void> claimed = claims_.claim(present); !claimed) return sync_.note_problem(claimed.error());
  // New processes of the infrastructure, and new threads that are in another class. All other differences are drift,
  // which is repaired and counted elsewhere.
  Setting wanted = without_unclaimed(task_setting_of(state_), state_.baselines);
  if (!check_no_memory_moves(state_, wanted)) wanted.cpuset = {};  // this thread would wait for the pages
  if (sync_.is_in_sync() && !differences(wanted, state_.observed).empty() && !sync_.rewrite(wanted)) return;
  if (!commits_.is_unknown()) commits_.release_restored();
}

void TaskReaper::remove_ended(const CpuSet& came) {
  const EndedTasks tasks = without_ended_tasks(state_, now(clock_));
  const Workloads before = state_.workloads;
  if (!tasks.of.empty() && changes_.apply(tasks.workloads, came)) log_ended(before, tasks);
  const std::set<WorkloadId> late = deadlines_.passed(state_.workloads, now(clock_), clock_.steady());
  const EndedGroups groups = without_ended_groups(state_, late);
  const Workloads present = state_.workloads;
  if (!(groups.ended.empty() && groups.come.empty()) && changes_.apply(groups.workloads, came))
    log_ended(present, groups);
}

}  // namespace nrd
