// Of the writer: what others write on frequencies that are set for workloads. It is put back, and what they wrote is
// what they get at the end: tuned and cpupower do not write again when a workload goes.
//
// Their value is stored before it is overwritten, so that it is known after any crash. It is theirs only if the
// hardware had taken the last setting whole (in_sync_); else it may be what a failed write of ours left. And it is
// theirs only if the CPU then takes ours: what comes back is a limit that the kernel sets (thermal, turbo), which is
// nobody's value.
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

// If it cannot be stored, what was to be given back stays: the workload has what it was granted all the same.
void Transaction::store_external(Frequencies of_others) {
  const Baselines before = state_.baselines;
  const Frequencies& old = before.frequencies_of_others;
  store::Change change;
  change.next_id = next_id_;
  Frequencies put;
  for (const CpuId cpu : changed_between(old, of_others).members()) put.emplace(cpu, of_others.at(cpu));
  change.frequencies_of_others = to_records(put);
  for (const CpuId cpu : (cpus_of(old) - cpus_of(of_others)).members()) {
    change.dropped_frequencies_of_others.push_back(cpu);
  }
  state_.baselines.frequencies_of_others = std::move(of_others);
  [[maybe_unused]] const Result<void> committed = commit(std::move(change), {state_.workloads, before});
}

// The observation of these frequencies is fresh. Those of `except` were not there at the last one: they have what the
// kernel gave them.
Result<void> Transaction::record_external(const Setting& wanted, const CpuSet& except) {
  if (!in_sync_) return {};
  Frequencies written = written_by_others(state_, wanted.pstate, except);
  if (written.empty()) return {};
  const Setting ours = only_frequencies(wanted, cpus_of(written));
  log::notice("FREQUENCY_REMEMBERED", "others wrote frequencies of CPUs that are set for workloads; they get them back",
              {{"CPUS", cpus_of(written).to_string()}});
  const Frequencies before = state_.baselines.frequencies_of_others;
  written.merge(Frequencies(before));
  store_external(std::move(written));
  if (before_unknown_) return fail(ErrorCode::Frozen, "the store does not answer clearly; nothing was changed");
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

// After a failed write of `ours`: what was to be given back of those that say something else is as `before`.
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

// Between two looks: frequencies that `wanted` is about to overwrite. A limit of the kernel's is a problem that is
// told, and keeps no workload from being changed or deleted.
Result<void> Transaction::restore(const NodeState& wanted) {
  if (!in_sync_ || before_unknown_ || state_.baselines.frequencies.empty()) return {};
  const Setting now = setting_of(state_);
  const pstate::Setting next = changes(setting_of(wanted), now).pstate;
  const CpuSet touched = cpus_of(next.cpus) | cpus_of(next.put_back);
  const Setting ours = only_frequencies(now, touched & cpus_of(state_.baselines.frequencies));
  if (ours.pstate.cpus.empty()) return {};
  Result<pstate::Observed> found = hardware_.observe_frequencies(cpus_of(ours.pstate.cpus));
  if (!found) return Failure(found.error());
  for (auto& [cpu, knobs] : found->cpus) state_.observed.pstate.cpus[cpu] = std::move(knobs);
  const std::vector<std::string> drifted = differences(ours, state_.observed);
  if (drifted.empty()) return {};
  const Result<void> remembered = record_external(ours, {});
  if (remembered && in_sync_) note_repaired(drifted);
  return remembered;
}

void Transaction::note_repaired(const std::vector<std::string>& drifted) {
  state_.health.drift_repairs += drifted.size();
  log::warning("DRIFT_REPAIRED", "others changed what workloads were granted; it was put back",
               {{"WHAT", drifted.front()}, {"COUNT", std::to_string(drifted.size())}});
}

}  // namespace nrd
