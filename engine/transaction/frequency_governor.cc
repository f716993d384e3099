// Part of the transaction: adaptive frequency of monitored CPUs.
#include "base/log.h"
#include "engine/transaction/transaction.h"

namespace nrd {

// A new workload starts with fresh state, also on the CPUs of one that was just deleted.
void Transaction::reset_governor() {
  const std::map<CpuId, BranchMissThreshold> monitored = monitored_cpus(state_);
  std::erase_if(state_.governors, [&monitored](const auto& entry) { return !monitored.contains(entry.first); });
}

bool Transaction::govern_frequencies() {
  std::map<CpuId, BranchMissThreshold> monitored = monitored_cpus(state_);
  // Do not change an unclaimed CPU: its previous value would be lost.
  std::erase_if(monitored, [this](const auto& entry) { return !state_.baselines.frequencies.contains(entry.first); });
  const CpuSet cpus = cpus_of(monitored);
  if (cpus.empty() && !counts_branches_) return false;
  counts_branches_ = !cpus.empty();
  const std::map<CpuId, pstate::BranchCounts> counted = hardware_.count_branches(cpus);
  note_uncounted((cpus & state_.facts.rdt.online) - cpus_of(counted));
  std::map<CpuId, plan::GovernorState> governors;
  bool somebody_moves = false;
  for (const auto& [cpu, threshold] : monitored) {
    const auto before = state_.governors.find(cpu);
    const plan::GovernorState control = before == state_.governors.end() ? plan::GovernorState{} : before->second;
    const auto found = counted.find(cpu);
    const auto now = found == counted.end() ? std::nullopt : std::optional(found->second);
    governors[cpu] = plan::next(control, threshold, now, clock_.steady());
    somebody_moves = somebody_moves || governors[cpu].speed != control.speed;
  }
  if (!somebody_moves) {
    state_.governors = std::move(governors);
    return true;
  }
  NodeState wanted = state_;
  wanted.governors = std::move(governors);
  const Result<void> moved = restore(wanted).and_then([&] { return converge(wanted, Scope::Changes); });
  state_.governors = std::move(wanted.governors);
  if (!moved) rollback();
  return true;
}

void Transaction::note_uncounted(CpuSet cpus) {
  if (!(cpus - state_.uncounted).empty()) {
    log::warning("BRANCHES_NOT_COUNTED", "cannot count branches on monitored CPUs; their frequency stays unchanged",
                 {{"CPUS", cpus.to_string()}});
  }
  state_.uncounted = std::move(cpus);
}

// Checks that the branches of all CPUs that `wanted` newly monitors can be counted.
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
