#include "engine/transaction/claims.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "engine/model/baselines.h"
#include "engine/model/cpu_noise.h"
#include "engine/model/node_state.h"
#include "engine/model/setting_changes.h"
#include "engine/transaction/commits.h"
#include "engine/transaction/proposal.h"

namespace nrd {
namespace {

// A scope is named after the number of its workload, and outlives a refused request with the process that moved into
// it.
WorkloadId last_with_scope(const Workloads& workloads) {
  WorkloadId last{};
  for (const auto& [id, workload] : workloads) {
    if (workload.grant.cpu && workload.grant.cpu->has_scope) last = std::max(last, id);
  }
  return last;
}

}  // namespace

Result<void> Claims::claim(Proposal& proposal) {
  const NodeState wanted = with_workloads(state_, proposal.workloads);
  // Do not touch what could not be restored.
  if (const CpuSet cpus = unreadable(wanted, proposal.setting); !cpus.empty()) {
    return fail(ErrorCode::Hardware,
                fmt::format("the frequency of CPU {} cannot be read now; try again", cpus.to_string()));
  }
  if (const CpuSet cpus = unreadable_latency(wanted, proposal.setting); !cpus.empty()) {
    return fail(ErrorCode::Hardware,
                fmt::format("the idle latency limit of CPU {} cannot be read now; try again", cpus.to_string()));
  }
  Baselines added = unclaimed(wanted, proposal.setting);
  if (state_.facts.cpuset.overwrites_affinity) {
    const cpuset::Setting changed = changed_cpu_sets(proposal.setting.cpuset, state_.observed.cpuset);
    for (const cpuset::Pinned& each : TRY(hardware_.pinned_by(changed))) added.pinned.emplace(each.thread, each.cpus);
  }
  if (added == Baselines{}) return {};
  store::Change change;
  // The first claim of a boot replaces the stored baselines of the previous boot.
  if (state_.baselines == Baselines{}) change.new_boot_id = state_.facts.boot_id;
  merge(state_.baselines, added);
  if (!added.cpu_sets.empty()) state_.next_id = std::max(state_.next_id, last_with_scope(proposal.workloads).value + 1);
  TRY(commits_.commit_baselines(std::move(change)));
  proposal = proposal_of(state_, std::move(proposal.workloads));
  return {};
}

void Claims::release_changed(const rdt::Setting& before, const Setting& wanted) {
  Baselines kept = owned_baselines(state_, before);
  if (kept == state_.baselines) return;
  log::notice("CLAIM_DROPPED", "other software changed classes or CPUs that no workload uses; no longer managing them",
              {{"DIFFERENCE", differences(wanted, state_.observed).front()}});
  state_.baselines = std::move(kept);
  // If this commit fails the claim stays, and the next run tries again.
  [[maybe_unused]] const Result<void> committed = commits_.commit_baselines({});
}

void Claims::release_taken_groups() {
  const auto is_taken = [this](ClosId clos) {
    return !state_.made_groups.contains(clos) && state_.observed.rdt.classes.contains(clos);
  };
  if (std::erase_if(state_.baselines.groups, is_taken) == 0) return;
  // If this commit fails the claim stays, and the next run tries again.
  [[maybe_unused]] const Result<void> committed = commits_.commit_baselines({});
}

}  // namespace nrd
