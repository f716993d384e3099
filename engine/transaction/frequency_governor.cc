// Of the writer: CPUs that run fast or slow as their branches say.
#include "base/log.h"
#include "engine/transaction/transaction.h"

namespace nrd {

// A workload that is new begins anew, also on the CPUs of one that has just gone.
void Transaction::reset_governor() {
  const std::map<CpuId, BranchMissThreshold> monitored = monitored_cpus(state_);
  std::erase_if(state_.paces, [&monitored](const auto& entry) { return !monitored.contains(entry.first); });
}

bool Transaction::govern_frequencies() {
  std::map<CpuId, BranchMissThreshold> monitored = monitored_cpus(state_);
  // What is not claimed yet must not be moved: its value would be lost.
  std::erase_if(monitored, [this](const auto& entry) { return !state_.baselines.frequencies.contains(entry.first); });
  const CpuSet cpus = cpus_of(monitored);
  if (cpus.empty() && !counts_branches_) return false;
  counts_branches_ = !cpus.empty();
  const std::map<CpuId, pstate::BranchCounts> counted = hardware_.count_branches(cpus);
  note_uncounted((cpus & state_.facts.rdt.online) - cpus_of(counted));
  std::map<CpuId, plan::GovernorState> paces;
  bool somebody_moves = false;
  for (const auto& [cpu, threshold] : monitored) {
    const auto before = state_.paces.find(cpu);
    const plan::GovernorState control = before == state_.paces.end() ? plan::GovernorState{} : before->second;
    const auto found = counted.find(cpu);
    const auto now = found == counted.end() ? std::nullopt : std::optional(found->second);
    paces[cpu] = plan::next(control, threshold, now, clock_.steady());
    somebody_moves = somebody_moves || paces[cpu].pace != control.pace;
  }
  if (!somebody_moves) {
    state_.paces = std::move(paces);
    return true;
  }
  NodeState wanted = state_;
  wanted.paces = std::move(paces);
  const Result<void> moved = restore(wanted).and_then([&] { return converge(wanted, Scope::Changes); });
  state_.paces = std::move(wanted.paces);
  if (!moved) rollback();
  return true;
}

void Transaction::note_uncounted(CpuSet cpus) {
  if (!(cpus - state_.uncounted).empty()) {
    log::warning("BRANCHES_NOT_COUNTED", "the branches of monitored CPUs cannot be counted; they stay as they are",
                 {{"CPUS", cpus.to_string()}});
  }
  state_.uncounted = std::move(cpus);
}

// Whether the branches of all CPUs that `wanted` monitors in addition can be counted now.
Result<void> Transaction::check_counters(const NodeState& wanted) {
  const CpuSet monitored = cpus_of(monitored_cpus(wanted));
  const CpuSet added = (monitored - cpus_of(monitored_cpus(state_))) & state_.facts.rdt.online;
  if (added.empty()) return {};
  counts_branches_ = true;
  const CpuSet uncounted = added - cpus_of(hardware_.count_branches(monitored));
  if (uncounted.empty()) return {};
  return fail_at(ErrorCode::Unsupported, "/pstate/ratio",
                 "the branches of CPU " + uncounted.to_string() + " cannot be counted now");
}

}  // namespace nrd
