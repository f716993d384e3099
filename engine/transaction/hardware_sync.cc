#include "engine/transaction/hardware_sync.h"

#include <utility>

#include "base/find_in.h"
#include "base/log.h"
#include "engine/model/baselines.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_noise.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/reserved_cpus.h"
#include "engine/model/setting.h"
#include "engine/model/setting_changes.h"
#include "engine/plan/cpus/zones.h"
#include "engine/plan/lost_ways.h"
#include "engine/transaction/proposal.h"

namespace nrd {
namespace {

void log_recovered() { log::notice("HARDWARE_RECOVERED", "workloads have their grants again"); }

}  // namespace

Result<void> HardwareSync::discover() {
  NodeFacts facts = TRY(hardware_.discover());
  state_.layouts.clear();
  if (const std::optional<rdt::Cat>& cat = facts.rdt.main().cat) {
    const PoolPartition layout = TRY(plan_layout(*cat, state_.config->pools));
    TRY(check_reserved_cpus(state_.config->groups, facts.rdt, layout));
    TRY(check_reserved_ways(state_.config->reserves, layout));
    state_.layouts[facts.rdt.main_level] = layout;
    const std::optional<rdt::Cat>& l2_cat = facts.rdt.level_of(2).cat;
    if (facts.rdt.main_level == 3 && l2_cat) state_.layouts[2] = plan_l2_layout(*l2_cat);
  }
  const bool has_new_zones = !state_.cpu_zones || facts.cpuset.zones != state_.facts.cpuset.zones ||
                             facts.rdt.online != state_.facts.rdt.online;
  const NodeFacts before = std::exchange(state_.facts, std::move(facts));
  if (has_new_zones)
    state_.cpu_zones = std::make_shared<const plan::ZoneTree>(state_.facts.cpuset.zones, state_.facts.rdt.online);
  adapt_to_node(before.pstate);
  return {};
}

// A new cpufreq driver (intel_pstate/status, amd_pstate/status) begins with settings of its own, and its governors mean
// something else: "powersave" is the lowest frequency in the passive modes only. Observations and baselines of the old
// one do not apply to it.
void HardwareSync::adapt_to_node(const pstate::Node& before) {
  state_.workloads = plan::without_lost_ways(state_);
  state_.workloads = with_late_siblings(state_);
  for (const auto& [cpu, facts] : state_.facts.pstate.cpus) {
    const pstate::Cpu* known = find_in(before.cpus, cpu);
    if (known && known->driver != facts.driver) state_.observed.pstate.cpus.edit().erase(cpu);
    const FrequencyClaim* claim = find_in(state_.baselines.frequencies, cpu);
    if (!claim || claim->driver.empty() || claim->driver == facts.driver) continue;
    state_.baselines.frequencies.edit().erase(cpu);
    state_.baselines.frequencies_of_others.erase(cpu);
    pending_restore_.remove(cpu);
    unrestored_.remove(cpu);
  }
}

// Adds processes that match now, and removes those that no longer match.
Result<void> HardwareSync::refresh_infra() {
  const ReservedCpus& groups = state_.config->groups;
  if (groups.infra_processes.empty() || !main_layout(state_)) {
    state_.infra_tasks.clear();
    return {};
  }
  const std::set<Task> found = TRY(hardware_.find_processes(groups.infra_processes, groups.infra_users));
  state_.infra_tasks.clear();
  for (Task task : found) {
    task.boot_id = state_.facts.boot_id;
    state_.infra_tasks.insert(std::move(task));
  }
  return {};
}

Result<void> HardwareSync::refresh(const CpuSet& frequencies, const std::set<TaskClaim>& others,
                                   const cpuset::Query& added) {
  std::set<Task> tasks = known_tasks(state_);
  for (const auto& [task, clos] : others) tasks.insert(task);
  cpuset::Query query = query_of(state_);
  query.targets.insert(added.targets.begin(), added.targets.end());
  query.shares.insert(added.shares.begin(), added.shares.end());
  query.memory.insert(added.memory.begin(), added.memory.end());
  Result<Observed> seen = hardware_.observe(frequencies, tasks, query);
  if (!seen) {  // for example because resctrl has been unmounted: the node has changed
    TRY(discover());
    seen = hardware_.observe(frequencies, tasks, query);
  }
  Observed observed = TRY(std::move(seen));
  for (const cpuset::Target& target : query.targets) observed.cpuset.targets.try_emplace(target);
  std::map<CpuId, pstate::FrequencySetting> known = observed.pstate.cpus;
  for (const auto& [cpu, knobs] : state_.observed.pstate.cpus) {
    const bool is_there = state_.facts.pstate.cpus.contains(cpu);
    if (is_there && !frequencies.contains(cpu)) known.emplace(cpu, knobs);
  }
  observed.pstate.cpus = std::move(known);
  observed.cpuset.noise = std::move(state_.observed.cpuset.noise);
  state_.observed = std::move(observed);
  return {};
}

Result<void> HardwareSync::refresh_with_infra(const CpuSet& frequencies) {
  TRY(refresh_infra());
  return refresh(frequencies);
}

void HardwareSync::refresh_noise() {
  state_.observed.cpuset.noise =
      cares_for_noise(state_) ? hardware_.observe_noise() : std::map<cpuset::NoiseSource, CpuSet>();
}

Result<void> HardwareSync::refresh_frequencies(const CpuSet& cpus, const pstate::Observed& last) {
  const pstate::Observed found = TRY(hardware_.observe_frequencies(cpus, last));
  std::map<CpuId, pstate::FrequencySetting>& known = state_.observed.pstate.cpus.edit();
  for (const auto& [cpu, knobs] : found.cpus) known[cpu] = knobs;
  state_.observed.pstate.turbo = found.turbo;
  return {};
}

// Foreign groups appear, disappear and change without notice. While there is none, comparing the group names is enough.
Result<bool> HardwareSync::refresh_foreign_groups() {
  if (!main_layout(state_)) return false;
  const Result<std::set<std::string>> names = hardware_.group_names();
  if (names && *names == group_names(state_.observed.rdt) && foreign_groups(state_).empty()) return false;
  return refresh({}).map([] { return true; });  // also mounts a missing resctrl tree where nrd may
}

Result<void> HardwareSync::converge(Setting setting, Scope scope) {
  if (scope == Scope::Changes) setting = without_present_cpusets(std::move(setting), state_);
  if (scope == Scope::Configuration) setting.pstate = {};
  setting = without_unclaimed(std::move(setting), state_.baselines);
  const Result<void> can_change_cpusets = check_no_memory_moves(state_, setting);
  if (!can_change_cpusets && scope == Scope::Changes) return can_change_cpusets;
  if (!can_change_cpusets) setting.cpuset = {};  // all else does not wait for the pages
  state_.made_groups.insert(setting.rdt.made.begin(), setting.rdt.made.end());
  const auto begun = clock_.steady();
  const Result<CpuSet> left = hardware_.converge(setting);
  state_.latencies.converge.add(clock_.steady() - begun);
  // A partial write says nothing about the other settings.
  is_in_sync_ = left.has_value() && can_change_cpusets.has_value() && (is_in_sync_ || scope == Scope::All);
  if (!left) return Failure(left.error());
  // The claim stays, so that the next workload in that class needs no commit before its group is created. A group that
  // appears there meanwhile was created by other software.
  for (const ClosId clos : setting.rdt.removed) state_.made_groups.erase(clos);
  for (const CpuId cpu : left->members()) {
    if (setting.pstate.cpus.erase(cpu) > 0) note_absent(cpu);
    if (setting.pstate.put_back.erase(cpu) > 0) note_pending_restore(cpu);
  }
  for (auto& [cpu, before] : setting.pstate.put_back) {
    note_restored(cpu);
    before = shown(std::move(before), state_.facts.pstate.cpus.at(cpu), state_.observed.pstate.turbo);
  }
  note_absent_cpus();
  state_.observed = with_applied(std::move(state_.observed), setting);
  TRY(can_change_cpusets);
  if (!setting.cpuset.restored_noise.empty()) refresh_noise();  // some may have refused
  state_.baselines.pinned.clear();                              // a service may choose another mask from now on
  if (scope == Scope::All) end_problem();
  return {};
}

Result<void> HardwareSync::write(const Setting& part) {
  const Result<CpuSet> written = hardware_.converge(part);
  if (!written) {
    note_problem(written.error());
    return Failure(written.error());
  }
  state_.observed = with_applied(std::move(state_.observed), part);
  return {};
}

Result<void> HardwareSync::rewrite(const Setting& part) {
  const Result<void> written = write(part);
  is_in_sync_ = written.has_value();
  return written;
}

void HardwareSync::rollback() {
  // The write may have failed because CPUs went online or offline since the last refresh, and has written a part.
  [[maybe_unused]] const Result<void> found = discover();
  [[maybe_unused]] const Result<void> seen = refresh(cpus_of(state_.facts.pstate.cpus));
  refresh_noise();
  const Result<void> converged = converge(setting_of(state_), Scope::All);
  if (converged) return;
  note_problem(converged.error());
  // If that fails too, the last observation stays, and the next refresh tries again.
  [[maybe_unused]] const Result<void> refreshed = refresh(cpus_of(state_.facts.pstate.cpus));
}

void HardwareSync::note_in_sync() {
  is_in_sync_ = true;
  end_problem();
}

void HardwareSync::note_problem(const Error& error) {
  if (state_.health.hardware_problem != error.message) {
    log::error("HARDWARE_PROBLEM", error.message, {{"DETAIL", error.detail}});
  }
  state_.health.hardware_problem = error.message;
}

void HardwareSync::end_problem() {
  if (state_.health.hardware_problem.empty()) return;
  state_.health.hardware_problem.clear();
  if (problem_of(state_).empty()) log_recovered();
}

void HardwareSync::report_problem() {
  if (!state_.health.hardware_problem.empty()) return;  // note_problem() has logged it
  std::string problem = problem_of(state_);
  if (problem == reported_problem_) return;
  if (problem.empty()) {
    log_recovered();
  } else {
    log::error("HARDWARE_PROBLEM", problem);
  }
  reported_problem_ = std::move(problem);
}

void HardwareSync::note_repaired(const std::vector<std::string>& drifted) {
  state_.health.drift_repairs += drifted.size();
  log::warning("DRIFT_REPAIRED", "other software changed granted settings; they have been restored",
               {{"DIFFERENCE", drifted.front()}, {"COUNT", std::to_string(drifted.size())}});
}

// The CPU has gone offline since the last refresh; the next one handles the rest.
void HardwareSync::note_absent(CpuId cpu) {
  state_.facts.rdt.online.remove(cpu);
  if (state_.observed.pstate.cpus.contains(cpu)) state_.observed.pstate.cpus.edit().erase(cpu);
}

void HardwareSync::note_absent_cpus() {
  for (const auto& [cpu, before] : state_.baselines.frequencies) {
    if (!state_.facts.pstate.cpus.contains(cpu)) pending_restore_.add(cpu);
  }
}

void HardwareSync::note_pending_restore(CpuId cpu) {
  pending_restore_.add(cpu);
  if (unrestored_.contains(cpu) || !state_.facts.rdt.online.contains(cpu)) return;
  unrestored_.add(cpu);
  log::warning("FREQUENCY_NOT_RESTORED", "cannot restore CPU frequency; will retry",
               {{"CPU", std::to_string(cpu.value)}});
}

void HardwareSync::note_restored(CpuId cpu) {
  pending_restore_.remove(cpu);
  if (!unrestored_.contains(cpu)) return;
  unrestored_.remove(cpu);
  log::notice("FREQUENCY_RESTORED", "CPU frequency restored", {{"CPU", std::to_string(cpu.value)}});
}

}  // namespace nrd
