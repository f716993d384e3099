#include "engine/model/node_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/find_in.h"
#include "engine/model/confinement.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_noise.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_config.h"
#include "engine/plan/ways.h"

namespace nrd {

std::shared_ptr<const NodeConfig> default_config() { return std::make_shared<const NodeConfig>(); }

NodeState with_workloads(NodeState state, Workloads workloads) {
  state.workloads = std::move(workloads);
  return state;
}

const PoolPartition* layout_of(const NodeState& state, unsigned level) { return find_in(state.layouts, level); }

const PoolPartition* main_layout(const NodeState& state) { return layout_of(state, state.facts.rdt.main_level); }

WayMask all_ways(const NodeState& state, CacheId cache) {
  const std::optional<rdt::Cat>& cat = state.facts.rdt.cat_of(cache);
  return cat ? WayMask::all(cat->ways) : WayMask();
}

WayMask io_ways(const NodeState& state, CacheId cache) {
  const std::optional<rdt::Cat>& cat = state.facts.rdt.cat_of(cache);
  const WayMask* io = find_in(state.facts.rdt.io_ways, cache);
  const WayMask of_class = io ? *io : WayMask();
  return cat ? cat->shareable | of_class : of_class;
}

WayMask granted_ways(const NodeState& state, CacheId cache) {
  WayMask granted;
  for (const auto& [id, workload] : state.workloads) {
    if (const WayMask* ways = find_in(workload.grant.ways, cache)) granted = granted | *ways;
  }
  return granted;
}

WayMask os_ways(const NodeState& state, CacheId cache) {
  const WayMask used = granted_ways(state, cache) | infra_ways(state, cache);
  const PoolPartition* layout = layout_of(state, cache.level);
  const std::optional<rdt::Cat>& cat = state.facts.rdt.cat_of(cache);
  if (used.empty() || !layout || !cat) {
    return state.observed.rdt.ways_of(kRootClass, cache).value_or(all_ways(state, cache));
  }
  const WayMask unassigned = all_ways(state, cache) - used - foreign_ways(state, cache);
  const WayMask ways = cat->sparse_masks ? unassigned : plan::os_run(unassigned, layout->os, io_ways(state, cache));
  // Foreign groups may hold the OS floor. No workload is granted it, so the OS shares it with these groups only. Where
  // the kernel does not allow sharing, the OS has fewer ways.
  const bool is_locked = layout->os.intersects(locked_ways(state, cache));
  return ways.count() >= (is_locked ? cat->min_ways : layout->os.count()) ? ways : layout->os;
}

WayMask unassigned_ways(const NodeState& state, CacheId cache) {
  return all_ways(state, cache) - granted_ways(state, cache) - infra_ways(state, cache) - foreign_ways(state, cache);
}

WayMask idle_ways(const NodeState& state, CacheId cache) {
  return unassigned_ways(state, cache) - os_ways(state, cache);
}

WayMask free_ways(const NodeState& state, CacheId cache) {
  const PoolPartition* layout = layout_of(state, cache.level);
  if (!layout) return {};
  return all_ways(state, cache) - layout->os - layout->infra - foreign_ways(state, cache) - granted_ways(state, cache);
}

const Workload* workload_with_id(const NodeState& state, std::string_view id) {
  for (const auto& [number, workload] : state.workloads) {
    if (id_text(workload) == id) return &workload;
  }
  return nullptr;
}

CpuSet free_cpus(const NodeState& state) {
  CpuSet claimed;
  for (const auto& [cpu, clos] : state.baselines.cpus) claimed.add(cpu);
  CpuSet free = state.facts.rdt.online;
  for (const auto& [name, group] : state.observed.rdt.foreign) free -= group.cpus;
  for (const auto& [clos, group] : state.observed.rdt.classes) {
    if (clos != kRootClass) free -= group.cpus - claimed;
  }
  for (const auto& [id, workload] : state.workloads) free -= reserved_cpus_of(workload);
  free -= state.config->groups.os | state.config->groups.infra;
  return free;
}

std::set<Task> known_tasks(const NodeState& state) {
  std::set<Task> tasks;
  for (const auto& [id, workload] : state.workloads)
    tasks.insert(workload.spec.tasks.begin(), workload.spec.tasks.end());
  for (const auto& [task, clos] : state.baselines.tasks) tasks.insert(task);
  for (const auto& [target, group] : state.observed.cpuset.groups)
    tasks.insert(group.processes.begin(), group.processes.end());
  tasks.insert(state.infra_tasks.begin(), state.infra_tasks.end());
  std::erase_if(tasks, [&state](const Task& task) { return task.boot_id != state.facts.boot_id; });
  return tasks;
}

bool has_ended(const NodeState& state, const Task& task) {
  if (task.boot_id != state.facts.boot_id) return true;
  const auto* groups = find_in(state.observed.rdt.tasks, task);
  if (groups && groups->empty()) return true;
  const cpuset::Target target{.kind = cpuset::Target::Kind::Task, .name = {}, .task = task};
  const cpuset::Masks* masks = find_in(state.observed.cpuset.targets, target);
  return masks && masks->cpus.empty();
}

const Workload* owner_of(const NodeState& state, CpuId cpu) {
  for (const auto& [id, workload] : state.workloads) {
    if (cpus_of(workload).contains(cpu)) return &workload;
  }
  return nullptr;
}

namespace {

bool is_monitored(const Workload& workload) {
  const auto& request = workload.spec.frequency;
  return request && request->threshold && request->monitoring == FrequencyRequest::Monitoring::On;
}

bool requests_window(const Workload& workload) {
  const auto& request = workload.spec.frequency;
  return request && (request->min || request->max);
}

// True if max_percent keeps `cpu` below the requested maximum, although cpufreq shows that.
bool is_limited(const NodeState& state, const Workload& workload, CpuId cpu) {
  const pstate::Node& node = state.facts.pstate;
  if (!node.max_percent || !requests_window(workload) || is_monitored(workload)) return false;
  const pstate::Cpu* facts = find_in(node.cpus, cpu);
  return facts && workload.grant.frequencies.at(cpu).max > reach(state, *facts);
}

bool has_its_frequencies(const NodeState& state, const Workload& workload) {
  return std::ranges::all_of(workload.grant.frequencies, [&state, &workload](const auto& granted) {
    const CpuId cpu = granted.first;
    if (!state.facts.rdt.online.contains(cpu)) return true;
    if (state.uncounted.contains(cpu)) return false;
    const pstate::FrequencySetting* observed = find_in(state.observed.pstate.cpus, cpu);
    return observed && *observed == wanted_knobs(state, workload, cpu, *observed) && !is_limited(state, workload, cpu);
  });
}

bool has_its_tasks(const NodeState& state, const Workload& workload) {
  const std::set<std::string> wanted{text_of(workload.grant.clos)};
  return std::ranges::all_of(workload.spec.tasks, [&](const Task& task) {
    const auto* groups = find_in(state.observed.rdt.tasks, task);
    return has_ended(state, task) || (groups && *groups == wanted);
  });
}

bool has_its_bandwidth(const NodeState& state, const Workload& workload) {
  if (workload.grant.bandwidth.empty()) return true;
  const auto& mba = state.facts.rdt.capabilities.mba_info;
  const rdt::Class* group = find_in(state.observed.rdt.classes, workload.grant.clos);
  return group && std::ranges::all_of(workload.grant.bandwidth, [&](const auto& granted) {
           if (!state.facts.rdt.level_of(3).caches.contains(granted.first)) return true;
           const uint32_t* limit = find_in(group->bandwidth, granted.first);
           return mba && mba->unit == granted.second.unit && limit && *limit == granted.second.value;
         });
}

bool has_its_ways(const NodeState& state, const Workload& workload) {
  if (!workload.grant.has_class()) return !lacks_ways(workload);
  if (!state.facts.rdt.main().cat) return false;
  const rdt::Class* group = find_in(state.observed.rdt.classes, workload.grant.clos);
  if (!group) return false;
  const bool has_ways = std::ranges::all_of(workload.grant.ways, [&](const auto& granted) {
    const rdt::Node& node = state.facts.rdt;
    if (node.cat_of(granted.first) && !node.has(granted.first)) return true;  // all its CPUs are offline
    const WayMask* ways = find_in(group->ways, granted.first);
    return ways && *ways == granted.second &&
           state.observed.rdt.split_of(workload.grant.clos, granted.first) == split_of(workload, granted.first);
  });
  return has_ways && has_its_tasks(state, workload) && has_its_bandwidth(state, workload) &&
         (cpus_of(workload) & state.facts.rdt.online).is_subset_of(group->cpus);
}

}  // namespace

bool is_applied(const NodeState& state, const Workload& workload) {
  return cpus_of(workload).is_subset_of(state.facts.rdt.possible) && has_its_ways(state, workload) &&
         has_its_frequencies(state, workload) && has_its_cpus(state, workload) && has_its_share(state, workload) &&
         has_its_memory(state, workload) && has_its_latency(state, workload);
}

std::string bandwidth_problem(const NodeState& state) {
  const auto& mba = state.facts.rdt.capabilities.mba_info;
  for (const auto& [id, workload] : state.workloads) {
    const auto& granted = workload.grant.bandwidth;
    if (granted.empty() || (mba && mba->unit == granted.begin()->second.unit)) continue;
    const std::string subject = "the memory bandwidth of workload " + id_text(workload);
    if (!mba)
      return subject +
             " is not limited: the kernel no longer allocates it; boot as before (without rdt=!mba), or change the "
             "workload";
    return subject +
           " was granted in a unit that resctrl no longer uses, and is not set; mount resctrl as before (with or "
           "without mba_MBps), or change the workload";
  }
  return {};
}

namespace {

// Why the frequency of `cpu` cannot be set as granted; nullopt: it can be, or the CPU is offline.
std::optional<std::string> why_unsettable(const NodeState& state, const Workload& workload, CpuId cpu) {
  const pstate::Node& node = state.facts.pstate;
  if (!state.facts.rdt.online.contains(cpu)) return std::nullopt;
  const pstate::Cpu* facts = find_in(node.cpus, cpu);
  if (!facts) return node.missing.empty() ? "" : node.missing.front();
  const Result<void> checked = check_for_registers(cpu, facts->way, wanted_knobs(state, workload, cpu, {}));
  return checked ? std::nullopt : std::optional(checked.error().message);
}

// Workloads whose frequencies cannot be set any more, or not reach their maximum.
std::string frequency_problem(const NodeState& state) {
  const pstate::Node& node = state.facts.pstate;
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cpu, granted] : workload.grant.frequencies) {
      const std::optional<std::string> why = why_unsettable(state, workload, cpu);
      if (!why && !is_limited(state, workload, cpu)) continue;
      const std::string subject = fmt::format("{} of workload {}", text_of(cpu), id_text(workload));
      if (why) {
        return fmt::format("the frequency of {} cannot be set{}; boot as before, or change the workload", subject,
                           why->empty() ? "" : " (" + *why + ")");
      }
      return fmt::format(
          "{} cannot reach its maximum: max_perf_pct of intel_pstate is {}; write 100 to "
          "/sys/devices/system/cpu/intel_pstate/max_perf_pct, or change the workload",
          subject, *node.max_percent);
    }
  }
  return {};
}

// Workloads without cache allocation, or whose class or ways do not exist any more while no others are free
// (engine/plan/lost_ways.h).
std::string ways_problem(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  for (const auto& [id, workload] : state.workloads) {
    const std::string subject = fmt::format("workload {} has no ways: ", id_text(workload));
    if (workload.grant.has_class() && !node.main().cat && !node.missing.empty())
      return fmt::format("{}{}; boot or mount resctrl as before, or delete the workload", subject,
                         node.missing.front());
    if (!lacks_ways(workload)) continue;
    return subject +
           "this node has fewer classes of service or ways, or other caches, than when they were granted, and no "
           "others are free; boot or mount resctrl as before (such as without cdp), or change or delete workloads";
  }
  return {};
}

// Workloads with separate ways for code while resctrl has one mask for both.
std::string code_problem(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  for (const auto& [id, workload] : state.workloads) {
    const Spec& spec = workload.spec;
    const std::optional<rdt::Cat>& cat = node.main().cat;
    const std::optional<rdt::Cat>& l2_cat = node.level_of(2).cat;
    const bool is_joined = spec.cache && spec.cache->code > 0 && !(cat && cat->cdp);
    const bool is_joined_in_l2 = spec.l2 && spec.l2->code > 0 && l2_cat && !l2_cat->cdp;
    if (!is_joined && !is_joined_in_l2) continue;
    return fmt::format(
        "code and data of workload {} were granted separate ways but share them now; mount resctrl as before (with cdp "
        "or cdpl2), or change the workload",
        id_text(workload));
  }
  return {};
}

// Workloads with L2 ways while the kernel allocates only L3.
std::string l2_problem(const NodeState& state) {
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.spec.l2 || state.facts.rdt.level_of(2).cat) continue;
    return fmt::format(
        "workload {} was granted L2 ways, which the kernel no longer allocates; boot as before (without rdt=!l2cat), "
        "or change the workload",
        id_text(workload));
  }
  return {};
}

// The problem names one of them.
std::string all_failed(const NodeState& state) {
  const auto failed =
      std::ranges::count_if(state.workloads, [&state](const auto& entry) { return !is_applied(state, entry.second); });
  return failed > 1 ? fmt::format("; {} workloads are Failed", failed) : "";
}

}  // namespace

std::string problem_of(const NodeState& state) {
  for (const std::string& problem : {state.health.hardware_problem, ways_problem(state), frequency_problem(state),
                                     bandwidth_problem(state), code_problem(state), l2_problem(state),
                                     cpu_problem(state), memory_problem(state), confinement_problem(state)}) {
    if (!problem.empty()) return problem + all_failed(state);
  }
  return {};
}

bool is_ok(const NodeState& state) { return !state.health.writes_frozen && problem_of(state).empty(); }

KHz reach(const NodeState& state, const pstate::Cpu& cpu) {
  const KHz top = highest_of(cpu, state.observed.pstate.turbo);
  const std::optional<uint32_t>& max_percent = state.facts.pstate.max_percent;
  if (!max_percent) return top;
  // Of the maximum with turbo, rounded up to a ratio (intel_pstate_update_perf_limits() in
  // drivers/cpufreq/intel_pstate.c).
  const Ratio limit{(ratio_of(cpu.max).value * *max_percent + 99) / 100};
  return std::min(top, khz_of(limit));
}

plan::Speed speed_of(const NodeState& state, CpuId cpu) {
  const pstate::Cpu* facts = find_in(state.facts.pstate.cpus, cpu);
  const CpuSet domain = facts ? facts->domain : CpuSet{cpu.value};
  std::optional<plan::Speed> slowest;
  for (const CpuId other : domain.members()) {
    const plan::GovernorState* control = find_in(state.governors, other);
    if (!control) continue;
    if (control->speed == plan::Speed::Fast) return plan::Speed::Fast;
    slowest = control->speed;
  }
  return slowest.value_or(plan::GovernorState{}.speed);
}

std::map<CpuId, BranchMissThreshold> monitored_cpus(const Workloads& workloads) {
  std::map<CpuId, BranchMissThreshold> monitored;
  for (const auto& [id, workload] : workloads) {
    if (!is_monitored(workload)) continue;
    for (const auto& [cpu, granted] : workload.grant.frequencies) monitored[cpu] = *workload.spec.frequency->threshold;
  }
  return monitored;
}

std::optional<pstate::FrequencySetting> original_setting(const NodeState& state, CpuId cpu) {
  if (const auto* claimed = find_in(state.baselines.frequencies, cpu)) return *claimed;
  const pstate::FrequencySetting* found = find_in(state.observed.pstate.cpus, cpu);
  const pstate::Cpu* facts = find_in(state.facts.pstate.cpus, cpu);
  if (!found || !facts) return std::nullopt;
  return without_hidden_maximum(*found, *facts, state.observed.pstate.turbo);
}

const pstate::FrequencySetting& given_back(const Baselines& baselines, CpuId cpu) {
  const pstate::FrequencySetting* of_others = find_in(baselines.frequencies_of_others, cpu);
  return of_others ? *of_others : baselines.frequencies.at(cpu);
}

pstate::FrequencySetting granted_window(const NodeState& state, const Workload& workload, CpuId cpu) {
  const pstate::Cpu* facts = find_in(state.facts.pstate.cpus, cpu);
  const std::optional<pstate::FrequencySetting> before = original_setting(state, cpu);
  if (workload.spec.frequency->sets_window() || !facts || !before) return workload.grant.frequencies.at(cpu);
  return {.min = before->min, .max = std::min(before->max, facts->max), .governor = {}, .epp = {}};
}

pstate::FrequencySetting wanted_knobs(const NodeState& state, const Workload& workload, CpuId cpu,
                                      const pstate::FrequencySetting& before) {
  const pstate::FrequencySetting& granted = workload.grant.frequencies.at(cpu);
  pstate::FrequencySetting knobs = before;
  if (workload.spec.frequency->sets_window()) {
    knobs.min = granted.min;
    knobs.max = granted.max;
  }
  const pstate::Cpu* facts = find_in(state.facts.pstate.cpus, cpu);
  // A window that was not requested is as the kernel limits it now.
  if (facts && !requests_window(workload)) knobs = shown(std::move(knobs), *facts, state.observed.pstate.turbo);
  if (is_monitored(workload)) {
    const KHz limit = facts ? reach(state, *facts) : granted.max;
    const bool is_fast = speed_of(state, cpu) == plan::Speed::Fast;
    knobs.min = knobs.max = std::min(is_fast ? granted.max : granted.min, limit);
  }
  if (!granted.governor.empty()) knobs.governor = granted.governor;
  if (!granted.epp.empty()) {
    knobs.epp = granted.epp;
  } else if (granted.governor == "performance" && !knobs.epp.empty()) {
    knobs.epp = "performance";  // active drivers report this under this governor, whatever was set before
  }
  return knobs;
}

}  // namespace nrd
