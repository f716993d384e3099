// Part of the transaction: frequencies that other software writes while a workload sets them. nrd overwrites them, and
// restores them when the workload goes: tuned and cpupower do not write again at that moment.
//
// Their value is stored before it is overwritten, so that no crash loses it. It is an external value only if the
// hardware had applied the last setting completely (in_sync_), else it may be left from a failed write of nrd. And only
// if the CPU then accepts nrd's value: one that comes back is a limit of the kernel (thermal, turbo).
#include "base/log.h"
#include "engine/model/baselines.h"
#include "engine/model/setting.h"
#include "engine/transaction/transaction.h"

namespace nrd {
namespace {

CpuSet changed_between(const std::map<CpuId, pstate::FrequencySetting>& before,
                       const std::map<CpuId, pstate::FrequencySetting>& after) {
  CpuSet changed;
  for (const auto& [cpu, knobs] : after) {
    const auto old = before.find(cpu);
    if (old == before.end() || old->second != knobs) changed.add(cpu);
  }
  return changed;
}

}  // namespace

// If this commit fails the previous restore value stays; the workload gets its grant all the same.
void Transaction::store_external(Frequencies of_others) {
  const Frequencies& old = stored_.baselines.frequencies_of_others;
  store::Change change;
  Frequencies put;
  for (const CpuId cpu : changed_between(old, of_others).members()) put.emplace(cpu, of_others.at(cpu));
  change.frequencies_of_others = to_records(put);
  for (const CpuId cpu : (cpus_of(old) - cpus_of(of_others)).members()) {
    change.dropped_frequencies_of_others.push_back(cpu);
  }
  state_.baselines.frequencies_of_others = std::move(of_others);
  [[maybe_unused]] const Result<void> committed = commit(std::move(change), Part::Baselines);
}

// Requires a fresh observation of these frequencies. The CPUs of `except` were offline at the last one and have values
// that the kernel gave them.
Result<void> Transaction::record_external(const Setting& wanted, const CpuSet& except) {
  if (!in_sync_) return {};
  Frequencies written = written_by_others(state_, wanted.pstate, except);
  if (written.empty()) return {};
  const Setting ours = only_frequencies(wanted, cpus_of(written));
  log::notice("FREQUENCY_REMEMBERED",
              "other software changed frequencies that workloads use; will restore its values later",
              {{"CPUS", cpus_of(written).to_string()}});
  const Frequencies before = state_.baselines.frequencies_of_others;
  written.merge(Frequencies(before));
  store_external(std::move(written));
  if (unknown_) return fail(ErrorCode::Frozen, "store state unknown; change rejected, try again");
  const Result<CpuSet> taken = hardware_.converge(ours);
  in_sync_ = taken.has_value();
  if (taken) {
    state_.observed = with_applied(std::move(state_.observed), ours);
  } else {
    note_hardware_problem(taken.error());
    forget_untaken_external(before, ours);
  }
  return {};
}

// After a failed write of `ours`: reset the restore values of CPUs that differ to those of `before`.
void Transaction::forget_untaken_external(const Frequencies& before, const Setting& ours) {
  Frequencies kept = state_.baselines.frequencies_of_others;
  const Frequencies now = hardware_.observe_frequencies(cpus_of(ours.pstate.cpus)).value_or(pstate::Observed{}).cpus;
  for (const auto& [cpu, wanted] : ours.pstate.cpus) {
    const auto found = now.find(cpu);
    if (found != now.end() && found->second == wanted) continue;
    kept.erase(cpu);
    if (const auto old = before.find(cpu); old != before.end()) kept.insert(*old);
  }
  if (kept != state_.baselines.frequencies_of_others) store_external(std::move(kept));
}

// Frequencies that `wanted` is about to overwrite, changed since the last observation. A limit of the kernel is
// reported as a problem and does not block changes to or deletion of a workload.
Result<void> Transaction::restore(const NodeState& wanted) {
  if (!in_sync_ || unknown_ || state_.baselines.frequencies.empty()) return {};
  const Setting now = setting_of(state_);
  const pstate::Setting next = changes(setting_of(wanted), now).pstate;
  const CpuSet touched = cpus_of(next.cpus) | cpus_of(next.put_back);
  const Setting ours = only_frequencies(now, touched & cpus_of(state_.baselines.frequencies));
  if (ours.pstate.cpus.empty()) return {};
  const pstate::Observed found = TRY(hardware_.observe_frequencies(cpus_of(ours.pstate.cpus)));
  std::map<CpuId, pstate::FrequencySetting>& seen = state_.observed.pstate.cpus.edit();
  for (const auto& [cpu, knobs] : found.cpus) seen[cpu] = knobs;
  const std::vector<std::string> drifted = differences(ours, state_.observed);
  if (drifted.empty()) return {};
  const Result<void> remembered = record_external(ours, {});
  if (remembered && in_sync_) note_repaired(drifted);
  return remembered;
}

void Transaction::note_repaired(const std::vector<std::string>& drifted) {
  state_.health.drift_repairs += drifted.size();
  log::warning("DRIFT_REPAIRED", "other software changed granted settings; they have been restored",
               {{"WHAT", drifted.front()}, {"COUNT", std::to_string(drifted.size())}});
}

}  // namespace nrd
