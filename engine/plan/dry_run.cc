#include "engine/plan/dry_run.h"

#include <utility>

#include "engine/model/setting.h"
#include "engine/plan/spec.h"

namespace nrd::plan {
namespace {

DryRun dry_run_of(const NodeState& state, Workloads planned, WorkloadId id) {
  const NodeState wanted = with_workloads(state, std::move(planned));
  Setting setting = changes(setting_of(wanted), frequency_setting_of(state));
  // Settings without a workload return to their baselines.
  for (const auto& [cpu, before] : setting.pstate.put_back) setting.pstate.cpus.emplace(cpu, before);
  return {.workload = wanted.workloads.at(id), .changes = knob_changes(setting, state.observed)};
}

}  // namespace

Result<DryRun> dry_run(const NodeState& state, const CreateWorkload& create, Time now) {
  // After all existing workloads, as a new one is.
  const WorkloadId id = state.workloads.next_id();
  return plan::create(state, id, create.spec, now, create.quota_user, create.origin).map([&](Workloads planned) {
    return dry_run_of(state, std::move(planned), id);
  });
}

Result<DryRun> dry_run(const NodeState& state, const PatchWorkload& patch, Time now) {
  return check_revision(state, patch.id, patch.if_revision)
      .and_then([&] { return plan::patch(state, patch.id, patch.patch, now, patch.quota_user); })
      .map([&](Workloads planned) { return dry_run_of(state, std::move(planned), patch.id); });
}

Result<DryRun> dry_run(const NodeState& state, const PutWorkload& wanted, Time now) {
  const WorkloadId next = state.workloads.next_id();
  const Workload* found = TRY(target_of(state, wanted));
  const WorkloadId id = found ? found->id : next;
  return plan::put(state, next, wanted, now).map([&](Workloads planned) {
    return dry_run_of(state, std::move(planned), id);
  });
}

}  // namespace nrd::plan
