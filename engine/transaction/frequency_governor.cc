#include "engine/transaction/frequency_governor.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "base/find_in.h"
#include "base/log.h"
#include "engine/model/setting.h"
#include "engine/model/setting_changes.h"
#include "engine/transaction/transaction.h"

namespace nrd {

void FrequencyGovernor::reset() {
  const std::map<CpuId, BranchMissThreshold> monitored = monitored_cpus(state_.workloads);
  std::erase_if(state_.governors, [&monitored](const auto& entry) { return !monitored.contains(entry.first); });
}

bool FrequencyGovernor::govern() {
  std::map<CpuId, BranchMissThreshold> monitored = monitored_cpus(state_.workloads);
  // Do not change an unclaimed CPU: its previous value would be lost.
  std::erase_if(monitored, [this](const auto& entry) { return !state_.baselines.frequencies.contains(entry.first); });
  const CpuSet cpus = cpus_of(monitored);
  if (cpus.empty() && !counts_branches_) return false;
  counts_branches_ = !cpus.empty();
  const std::map<CpuId, pstate::BranchCounts> counted = hardware_.count_branches(cpus);
  note_uncounted((cpus & state_.facts.rdt.online) - cpus_of(counted));
  std::map<CpuId, plan::GovernorState> governors;
  bool has_moved = false;
  for (const auto& [cpu, threshold] : monitored) {
    const plan::GovernorState* before = find_in(state_.governors, cpu);
    const plan::GovernorState control = before ? *before : plan::GovernorState{};
    const pstate::BranchCounts* found = find_in(counted, cpu);
    governors[cpu] = plan::next(control, threshold, found ? std::optional(*found) : std::nullopt, clock_.steady());
    has_moved = has_moved || governors[cpu].speed != control.speed;
  }
  if (!has_moved) {
    state_.governors = std::move(governors);
    return true;
  }
  NodeState wanted = state_;
  wanted.governors = governors;
  Setting setting = setting_of(wanted);
  const pstate::Setting present = frequency_setting_of(state_);
  const Result<void> moved = externals_.record_before(setting.pstate, present, {}).and_then([&](bool) {
    setting.pstate = changes(std::move(setting.pstate), present);
    return sync_.converge(std::move(setting), HardwareSync::Scope::Changes);
  });
  state_.governors = std::move(governors);
  if (!moved) sync_.rollback();
  return true;
}

void FrequencyGovernor::note_uncounted(CpuSet cpus) {
  if (!(cpus - state_.uncounted).empty()) {
    log::warning("BRANCHES_NOT_COUNTED", "cannot count branches on monitored CPUs; their frequency stays unchanged",
                 {{"CPUS", cpus.to_string()}});
  }
  state_.uncounted = std::move(cpus);
}

Result<void> FrequencyGovernor::check_counters(const Workloads& planned) {
  const CpuSet monitored = cpus_of(monitored_cpus(planned));
  const CpuSet added = (monitored - cpus_of(monitored_cpus(state_.workloads))) & state_.facts.rdt.online;
  if (added.empty()) return {};
  counts_branches_ = true;
  const CpuSet uncounted = added - cpus_of(hardware_.count_branches(monitored));
  if (uncounted.empty()) return {};
  return fail_at(ErrorCode::Unsupported, "/pstate/ratio",
                 fmt::format("the branches of CPU {} cannot be counted now", uncounted.to_string()));
}

}  // namespace nrd
