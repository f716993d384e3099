#include "engine/transaction/own_changes.h"

#include <utility>

#include "base/log.h"
#include "engine/plan/lost_ways.h"

namespace nrd {

bool OwnChanges::apply(const Workloads& workloads) {
  if (commits_.is_unknown()) return false;
  Proposal proposal = propose(state_, workloads);
  const Result<void> converged = claims_.claim(proposal).and_then(
      [&] { return sync_.converge(std::move(proposal.setting), HardwareSync::Scope::Changes); });
  if (!converged) {
    log::error("CONVERGE_FAILED", converged.error().message, {{"DETAIL", converged.error().detail}});
    if (!commits_.is_unknown()) sync_.rollback();
    return false;
  }
  state_.workloads = std::move(proposal.workloads);
  governor_.reset();
  return commits_.commit_workloads().has_value();
}

void OwnChanges::grant_lost_ways() {
  for (const WorkloadId id : plan::lacking_ways(state_)) {
    const Result<Workloads> planned = plan::grant_lost_ways(state_, id, now(clock_));
    if (!planned || !apply(*planned)) continue;  // problem_of() tells
    const Workload& workload = state_.workloads.at(id);
    log::notice("WAYS_GRANTED_AGAIN", "the class or the ways of a workload do not exist any more; it has got others",
                {{"WORKLOAD", id_text(workload)}, {"CLASS", text_of(workload.grant.clos)}});
  }
}

}  // namespace nrd
