#include "engine/transaction/external_frequencies.h"

#include <string>
#include <utility>
#include <vector>

#include "base/find_in.h"
#include "base/log.h"
#include "engine/model/baselines.h"
#include "engine/model/node_state.h"
#include "engine/model/setting.h"
#include "engine/model/setting_changes.h"
#include "engine/transaction/commits.h"
#include "engine/transaction/hardware_sync.h"

namespace nrd {

// If this commit fails the previous restore value stays; the workload gets its grant all the same.
void ExternalFrequencies::keep(Frequencies of_others) {
  state_.baselines.frequencies_of_others = std::move(of_others);
  [[maybe_unused]] const Result<void> committed = commits_.commit_baselines({});
}

Result<bool> ExternalFrequencies::record(const Setting& wanted, const CpuSet& except) {
  if (!sync_.is_in_sync()) return false;
  Frequencies written = written_by_others(state_, wanted.pstate, except);
  if (written.empty()) return false;
  const Setting ours = only_frequencies(wanted.pstate, cpus_of(written));
  log::notice("FREQUENCY_REMEMBERED",
              "other software changed frequencies that workloads use; will restore its values later",
              {{"CPUS", cpus_of(written).to_string()}});
  const Frequencies before = state_.baselines.frequencies_of_others;
  written.merge(Frequencies(before));
  keep(std::move(written));
  if (commits_.is_unknown()) return fail(ErrorCode::Frozen, "store state unknown; change rejected, try again");
  if (!sync_.rewrite(ours)) forget_untaken(before, ours);
  return true;
}

// After a failed write of `ours`: reset the restore values of CPUs that differ to those of `before`.
void ExternalFrequencies::forget_untaken(const Frequencies& before, const Setting& ours) {
  Frequencies kept = state_.baselines.frequencies_of_others;
  const Frequencies now =
      hardware_.observe_frequencies(cpus_of(ours.pstate.cpus), {}).value_or(pstate::Observed{}).cpus;
  for (const auto& [cpu, wanted] : ours.pstate.cpus) {
    const pstate::FrequencySetting* found = find_in(now, cpu);
    if (found && *found == wanted) continue;
    kept.erase(cpu);
    if (const pstate::FrequencySetting* old = find_in(before, cpu)) kept.emplace(cpu, *old);
  }
  if (kept != state_.baselines.frequencies_of_others) keep(std::move(kept));
}

Result<bool> ExternalFrequencies::record_before(const pstate::Setting& next, const pstate::Setting& present,
                                                const CpuSet& except) {
  if (!sync_.is_in_sync() || commits_.is_unknown() || state_.baselines.frequencies.empty()) return false;
  const pstate::Setting changed = changes(next, present);
  const CpuSet touched = cpus_of(changed.cpus) | cpus_of(changed.put_back);
  Setting ours = only_frequencies(present, touched & cpus_of(state_.baselines.frequencies));
  std::erase_if(ours.pstate.cpus, [this, &except](const auto& entry) {
    const pstate::Cpu* facts = find_in(state_.facts.pstate.cpus, entry.first);
    return facts && facts->domain.intersects(except);
  });
  if (ours.pstate.cpus.empty()) return false;
  TRY(sync_.refresh_frequencies(cpus_of(ours.pstate.cpus)));
  const std::vector<std::string> drifted = differences(ours, state_.observed);
  if (drifted.empty()) return false;
  const bool has_recorded = TRY(record(ours, {}));
  if (sync_.is_in_sync()) sync_.note_repaired(drifted);
  return has_recorded;
}

}  // namespace nrd
