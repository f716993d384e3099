#include "engine/transaction/workload_changes.h"

#include <utility>

#include "base/log.h"
#include "engine/model/node_state.h"
#include "engine/plan/lost_ways.h"
#include "engine/transaction/claims.h"
#include "engine/transaction/commits.h"
#include "engine/transaction/external_frequencies.h"
#include "engine/transaction/frequency_governor.h"
#include "engine/transaction/hardware_sync.h"
#include "engine/transaction/proposal.h"

namespace nrd {

Result<void> WorkloadChanges::carry_out(Proposal proposal, const CpuSet& came) {
  TRY(governor_.check_counters(proposal.workloads));
  TRY(check_no_memory_moves(state_, proposal));
  // A process that holds a lock blocks every write, so do not begin one.
  TRY(hardware_.await_locks());
  const bool has_recorded = TRY(externals_.record_before(proposal.setting.pstate, proposal.present, came));
  if (has_recorded) proposal = proposal_of(state_, std::move(proposal.workloads));
  TRY(claims_.claim(proposal));
  proposal.setting.pstate = changes(std::move(proposal.setting.pstate), proposal.present);
  const Result<void> converged = sync_.converge(std::move(proposal.setting), HardwareSync::Scope::Changes);
  if (!converged) {
    log::error("CONVERGE_FAILED", converged.error().message, {{"DETAIL", converged.error().detail}});
    sync_.rollback();
    return converged;
  }
  state_.workloads = std::move(proposal.workloads);
  return {};
}

bool WorkloadChanges::apply(const Workloads& workloads, const CpuSet& came) {
  if (commits_.is_unknown() || !carry_out(propose(state_, workloads), came)) return false;
  governor_.reset();
  return commits_.commit_workloads().has_value();
}

void WorkloadChanges::grant_lost_ways() {
  for (const WorkloadId id : plan::lacking_ways(state_)) {
    if (!hardware_.await_locks()) return;  // each of the others would wait as long
    const Result<Workloads> planned = plan::grant_lost_ways(state_, id, now(clock_));
    if (!planned || !apply(*planned)) continue;  // problem_of() tells
    const Workload& workload = state_.workloads.at(id);
    log::notice("WAYS_GRANTED_AGAIN", "the class or the ways of a workload do not exist any more; it has got others",
                {{"WORKLOAD", id_text(workload)}, {"CLASS", text_of(workload.grant.clos)}});
  }
}

}  // namespace nrd
