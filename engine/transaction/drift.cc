#include "engine/transaction/drift.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "engine/model/baselines.h"
#include "engine/model/node_state.h"
#include "engine/model/setting.h"
#include "engine/model/setting_changes.h"
#include "engine/transaction/claims.h"
#include "engine/transaction/commits.h"
#include "engine/transaction/conflict_watch.h"
#include "engine/transaction/external_frequencies.h"
#include "engine/transaction/foreign_group_watch.h"
#include "engine/transaction/hardware_sync.h"
#include "engine/transaction/proposal.h"
#include "engine/transaction/task_reaper.h"

namespace nrd {
namespace {

// The differences between `wanted` and the observation that other software caused. A setting that still has the value
// of `before` differs only because `wanted` changed: the root class avoids a new foreign group.
std::vector<std::string> drift(const Setting& before, const Setting& wanted, const Observed& observed) {
  std::set<std::string> changed;
  for (const KnobChange& change : knob_changes(before, observed)) changed.insert(change.knob);
  std::vector<std::string> found;
  for (const KnobChange& change : knob_changes(wanted, observed)) {
    if (changed.contains(change.knob)) found.push_back(text_of(change));
  }
  return found;
}

}  // namespace

Result<void> Drift::observe() {
  const std::string boot_id = state_.facts.boot_id;
  TRY(sync_.discover());
  if (state_.facts.boot_id != boot_id) {
    commits_.forget_baselines();
    state_.made_groups.clear();
  }
  // Nothing of nrd is on the others, and they may be isolated: not interrupted once they have been read.
  const pstate::Setting set = frequency_setting_of(state_);
  const CpuSet others = cpus_of(state_.observed.pstate.cpus) - cpus_of(set.cpus) - cpus_of(set.put_back);
  TRY(sync_.refresh_with_infra(cpus_of(state_.facts.pstate.cpus) - others));
  TRY(sync_.refresh_frequencies(others, state_.observed.pstate));
  sync_.refresh_noise();
  return {};
}

Result<void> Drift::restore(Setting wanted, const CpuSet& came) {
  Proposal present{state_.workloads, std::move(wanted)};
  const bool has_recorded = TRY(externals_.record(present.setting, came));
  if (has_recorded) present.setting = setting_of(state_);
  TRY(claims_.claim(present));
  TRY(sync_.converge(std::move(present.setting), HardwareSync::Scope::All));
  commits_.release_restored();
  return {};
}

void Drift::repair(const CpuSet& changed) {
  if (!commits_.resolve()) return;
  const CpuSet online = state_.facts.rdt.online;
  Setting before = setting_of(state_);
  if (const Result<void> found = observe(); !found) return sync_.note_problem(found.error());
  sync_.note_absent_cpus();
  const CpuSet came = changed | (state_.facts.rdt.online - online);
  // Before anything is limited: a limited target counts as present, so the tasks scan would see its end too late.
  reaper_.remove_ended(came);
  if (commits_.is_unknown()) return;
  claims_.release_taken_groups();
  // Observations after events follow each other too closely to tell a leftover from a group being set up.
  if (changed.empty()) groups_.remove_old_leftovers();
  groups_.report_sharing();
  // Not after events either: other work waits for them.
  if (changed.empty()) refresh_conflicts(hardware_, state_);
  Setting wanted = setting_of(state_);
  // Not while a CPU waits for its class: the kernel may have to wake each of them.
  if (changed.empty()) state_.current = hardware_.current_frequencies(cpus_of(wanted.pstate.cpus));
  const bool was_in_sync = sync_.is_in_sync();
  // A failed write of nrd looks like other software's change but is nrd's to fix.
  if (was_in_sync && !differences(wanted, state_.observed).empty()) {
    claims_.release_changed(before.rdt, wanted);
    wanted = setting_of(state_);
  }
  const bool is_different = !differences(wanted, state_.observed).empty();
  const bool is_cold = unclaimed(state_, wanted) != Baselines{};
  // After a failed write an empty difference proves nothing: a unit with all CPUs may still have AllowedCPUs= set.
  const bool has_nothing_to_restore = sync_.pending_restore().empty() && wanted.cpuset.restored_noise.empty();
  if (was_in_sync && !is_different && !is_cold && has_nothing_to_restore) {
    sync_.note_in_sync();
    return commits_.release_restored();
  }
  return_strays(before.rdt, state_);
  const std::vector<std::string> drifted = drift(before, wanted, state_.observed);
  if (const Result<void> restored = restore(std::move(wanted), came); !restored)
    return sync_.note_problem(restored.error());
  // A failed write of nrd is not drift.
  if (!is_different || !was_in_sync) return;
  // A CPU that went offline and came back is in the default class without having been moved.
  if (state_.facts.rdt.online != online || !changed.empty()) {
    log::notice("CPUS_CHANGED", "CPUs went online or offline; settings applied to the online CPUs",
                {{"CPUS", state_.facts.rdt.online.to_string()}});
    return;
  }
  if (!drifted.empty()) sync_.note_repaired(drifted);
}

}  // namespace nrd
