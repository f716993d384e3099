#include "engine/model/setting.h"

#include <algorithm>

namespace nrd {
namespace {

constexpr ClosId kRootClass{0};

std::string name_of(ClosId clos) { return "COS" + std::to_string(clos.value); }

std::optional<ClosId> class_of(const rdt::Observed& observed, CpuId cpu) {
  for (const auto& [clos, group] : observed.classes) {
    if (group.cpus.contains(cpu)) return clos;
  }
  return std::nullopt;
}

std::optional<WayMask> ways_of(const rdt::Observed& observed, ClosId clos, CacheId cache) {
  const auto group = observed.classes.find(clos);
  if (group == observed.classes.end()) return std::nullopt;
  const auto ways = group->second.ways.find(cache);
  if (ways == group->second.ways.end()) return std::nullopt;
  return ways->second;
}

std::optional<uint32_t> limit_of(const rdt::Observed& observed, ClosId clos, CacheId cache) {
  const auto group = observed.classes.find(clos);
  if (group == observed.classes.end()) return std::nullopt;
  const auto limit = group->second.bandwidth.find(cache);
  return limit == group->second.bandwidth.end() ? std::nullopt : std::optional(limit->second);
}

// A claimed CPU of its frequency domain.
std::optional<CpuId> claimed_beside(const NodeState& state, CpuId cpu) {
  for (const CpuId other : state.facts.pstate.cpus.at(cpu).domain.members()) {
    if (state.baselines.frequencies.contains(other)) return other;
  }
  return std::nullopt;
}

void claim_frequencies(Baselines& added, const NodeState& state, const pstate::Setting& setting) {
  const Baselines& baselines = state.baselines;
  std::map<CpuId, pstate::FrequencySetting> claimed;
  for (const auto& [cpu, wanted] : setting.cpus) {
    const auto found = state.observed.pstate.cpus.find(cpu);
    if (baselines.frequencies.contains(cpu) || found == state.observed.pstate.cpus.end()) continue;
    // A CPU that was offline when the others of its domain were claimed shows nrd's own setting; before, it had theirs.
    const std::optional<CpuId> other = found->second == wanted ? claimed_beside(state, cpu) : std::nullopt;
    const pstate::FrequencySetting& before = other ? baselines.frequencies.at(*other) : found->second;
    claimed[cpu] = before;
    if (other && given_back(baselines, *other) != before)
      added.frequencies_of_others[cpu] = given_back(baselines, *other);
  }
  added.frequencies = std::move(claimed);
}

// The process, or one of its threads.
bool is_of_workload(const NodeState& state, const Task& process) {
  return std::ranges::any_of(state.workloads, [&process](const auto& entry) {
    return std::ranges::any_of(entry.second.spec.tasks, [&process](const Task& task) {
      return task.process == process.id && task.boot_id == process.boot_id;
    });
  });
}

// Infrastructure before workloads, so that existing grants override it.
void add_groups(rdt::Setting& wanted, const NodeState& state) {
  if (!state.layout) return;
  const rdt::Node& node = state.facts.rdt;
  for (const CpuId cpu : (state.config->groups.os & node.online).members()) wanted.cpus[cpu] = kRootClass;
  bool has_class = false;
  for (const auto& [cache, cpus] : node.caches) {
    if (infra_ways(state, cache).empty()) continue;
    has_class = true;
    for (const CpuId cpu : (state.config->groups.infra & cpus & node.online).members()) wanted.cpus[cpu] = kInfraClass;
  }
  for (const Task& task : state.infra_tasks) {
    if (has_class && !has_ended(state, task) && !is_of_workload(state, task)) wanted.tasks[task] = kInfraClass;
  }
}

// The classes in use; tasks run anywhere.
struct Members {
  CpuSet cpus;
  bool has_tasks = false;
};

using ClassWays = std::map<ClosId, std::map<CacheId, WayMask>>;

std::map<ClosId, Members> members_of_classes(const NodeState& state, const ClassWays& classes) {
  std::map<ClosId, Members> members;
  if (classes.contains(kInfraClass) && is_reserved_for_infra(state, kInfraClass)) {
    members[kInfraClass] = {.cpus = state.config->groups.infra,
                            .has_tasks = !state.config->groups.infra_processes.empty()};
  }
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.has_class()) continue;
    members[workload.grant.clos].cpus |= workload.spec.cpus;
    members[workload.grant.clos].has_tasks |= !workload.spec.tasks.empty();
  }
  return members;
}

// Every other class on a cache with granted ways must not use these ways.
void add_bystanders(ClassWays& classes, const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  std::set<CacheId> used;
  for (const auto& [clos, caches] : classes) {
    for (const auto& [cache, ways] : caches) used.insert(cache);
  }
  const std::map<ClosId, Members> members = members_of_classes(state, classes);
  for (const CacheId cache : used) {
    const WayMask left = os_ways(state, cache);
    const CpuSet& cpus = node.cpus_of(cache);
    classes[kRootClass][cache] = left;
    for (const auto& [clos, its] : members) {
      if (its.has_tasks || its.cpus.intersects(cpus)) classes[clos].emplace(cache, left);
    }
  }
}

// A class that no longer needs its ways or its limit gets the values of a new group.
void add_unneeded(rdt::Setting& wanted, const NodeState& state) {
  const std::optional<rdt::MbaInfo>& mba = state.facts.rdt.capabilities.mba_info;
  for (const ClosId clos : wanted.made) {
    const auto group = state.observed.rdt.classes.find(clos);
    if (group == state.observed.rdt.classes.end()) continue;
    for (const auto& [cache, ways] : group->second.ways) {
      const WayMask unused = new_group_ways(state, cache);
      const bool is_as_new = ways == unused && !group->second.split.contains(cache);
      if (!is_as_new && !unused.empty() && state.facts.rdt.has(cache)) wanted.ways[clos].emplace(cache, unused);
    }
    for (const auto& [cache, value] : group->second.bandwidth) {
      if (mba && value < mba->most) wanted.bandwidth[clos].emplace(cache, rdt::Bandwidth{mba->unit, mba->most});
    }
  }
}

// The groups of classes in use, and no other group that nrd owns.
void add_group_changes(rdt::Setting& wanted, const NodeState& state) {
  for (const auto& [clos, ways] : wanted.ways) wanted.made.insert(clos);
  for (const auto& [id, workload] : state.workloads) {
    if (workload.grant.has_class()) wanted.made.insert(workload.grant.clos);
  }
  wanted.made.erase(kRootClass);
  wanted.removed = state.made_groups;
  for (const ClosId clos : wanted.made) wanted.removed.erase(clos);
}

// Skip a number in a unit other than the current one: it would mean something else.
void add_bandwidth(rdt::Setting& wanted, const NodeState& state) {
  const std::optional<rdt::MbaInfo>& mba = state.facts.rdt.capabilities.mba_info;
  if (!mba) return;
  const auto add = [&](ClosId clos, const std::map<CacheId, rdt::Bandwidth>& limits) {
    for (const auto& [cache, limit] : limits) {
      if (limit.unit == mba->unit && state.facts.rdt.caches.contains(cache)) wanted.bandwidth[clos][cache] = limit;
    }
  };
  for (const auto& [clos, limits] : state.baselines.bandwidth) add(clos, limits);
  for (const auto& [id, workload] : state.workloads) add(workload.grant.clos, workload.grant.bandwidth);
}

// Empty a class when its last workload with tasks is gone: their children are still in it.
void add_tasks(rdt::Setting& wanted, const NodeState& state) {
  std::set<ClosId> with_tasks;
  for (const auto& [task, clos] : wanted.tasks) with_tasks.insert(clos);
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.has_class()) continue;
    for (const Task& task : workload.spec.tasks) {
      if (has_ended(state, task)) continue;
      wanted.tasks[task] = workload.grant.clos;
      with_tasks.insert(workload.grant.clos);
    }
  }
  for (const auto& [task, clos] : state.baselines.tasks) {
    if (!has_ended(state, task)) wanted.tasks.emplace(task, kRootClass);
    if (!with_tasks.contains(clos)) wanted.without_tasks.insert(clos);
  }
}

// Names of group directories for messages.
std::string text_of(const std::set<std::string>& places) {
  std::string text;
  for (const std::string& place : places) text += (text.empty() ? "" : " ") + (place.empty() ? "COS0" : place);
  return text;
}

// Leave tasks in foreign groups untouched if they must be in no class of nrd.
bool is_right(const std::set<std::string>& places, ClosId wanted) {
  if (wanted != kRootClass) return places == std::set<std::string>{name_of(wanted)};
  return std::ranges::none_of(places, [](const std::string& place) { return place.starts_with("COS"); });
}

void add_task_changes(std::vector<KnobChange>& found, const rdt::Setting& setting, const rdt::Observed& observed) {
  for (const auto& [task, wanted] : setting.tasks) {
    const auto places = observed.tasks.find(task);
    const bool is_known = places != observed.tasks.end();
    if (!is_known && wanted == kRootClass) continue;
    if (is_known && (places->second.empty() || is_right(places->second, wanted))) continue;
    found.push_back(
        {.knob = std::string("class of ") + (task.is_process() ? "process " : "thread ") + std::to_string(task.id),
         .from = is_known ? text_of(places->second) : "COS0",
         .to = name_of(wanted)});
  }
  for (const ClosId clos : setting.without_tasks) {
    const auto group = observed.classes.find(clos);
    if (group == observed.classes.end() || !group->second.has_tasks()) continue;
    found.push_back({.knob = "tasks of " + name_of(clos), .from = "some", .to = "none"});
  }
}

std::string text_of(WayMask ways, const std::optional<rdt::Split>& split) {
  return ways.hex() + (split ? " (code " + split->code.hex() + ", data " + split->data.hex() + ")" : "");
}

std::string text_of(const pstate::FrequencySetting& knobs) {
  std::string text = std::to_string(knobs.min.value) + "-" + std::to_string(knobs.max.value) + " kHz";
  if (!knobs.governor.empty()) text += " " + knobs.governor;
  if (!knobs.epp.empty()) text += " " + knobs.epp;
  return text;
}

}  // namespace

ClassWays ways_in_use(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  ClassWays classes;
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cache, ways] : workload.grant.ways) {
      if (node.has(cache)) classes[workload.grant.clos][cache] = ways;
    }
  }
  for (const auto& [cache, cpus] : node.caches) {
    const WayMask ways = infra_ways(state, cache);
    if (!ways.empty()) classes[kInfraClass].emplace(cache, ways);
  }
  add_bystanders(classes, state);
  return classes;
}

// CPUs that share a domain with a workload's CPU change with it, so nrd must restore them as well.
pstate::Setting frequency_setting_of(const NodeState& state) {
  std::map<CpuId, const Workload*> owners;
  CpuSet granted;
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cpu, knobs] : workload.grant.frequencies) {
      owners[cpu] = &workload;
      granted.add(cpu);
    }
  }
  pstate::Setting wanted;
  for (const auto& [cpu, facts] : state.facts.pstate.cpus) {
    const CpuSet leaders = granted.contains(cpu) ? CpuSet{cpu.value} : facts.domain & granted;
    const auto claimed = state.baselines.frequencies.find(cpu);
    if (!leaders.empty()) {
      const CpuId leader = leaders.members().front();
      const pstate::FrequencySetting before = original_setting(state, cpu).value_or(pstate::FrequencySetting{});
      wanted.cpus[cpu] = wanted_knobs(state, *owners.at(leader), leader, before);
    } else if (claimed != state.baselines.frequencies.end()) {
      wanted.put_back[cpu] = given_back(state.baselines, cpu);
    }
  }
  return wanted;
}

Setting setting_of(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  rdt::Setting wanted;
  wanted.ways = ways_in_use(state);
  for (const auto& [clos, caches] : state.baselines.ways) {
    for (const auto& [cache, ways] : caches) {
      if (!node.has(cache)) continue;
      // The kernel refuses a mask with ways that a group has pseudo-locked since.
      const WayMask locked = locked_ways(state, cache);
      wanted.ways[clos].emplace(cache, ways.intersects(locked) ? (ways - locked).longest_run() : ways);
    }
  }
  for (const auto& [cpu, clos] : state.baselines.cpus) {
    if (node.online.contains(cpu)) wanted.cpus[cpu] = clos;
  }
  add_groups(wanted, state);
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cache, ways] : workload.grant.ways) {
      // Mounted without CDP since: code and data share the ways, and code_problem() reports it.
      const bool can_split = node.has(cache) && node.cat_of(cache) && node.cat_of(cache)->cdp;
      const auto split = can_split ? split_of(workload, cache) : std::nullopt;
      if (split) wanted.split[workload.grant.clos][cache] = *split;
    }
    if (!workload.grant.has_class()) continue;
    for (const CpuId cpu : (workload.spec.cpus & node.online).members()) wanted.cpus[cpu] = workload.grant.clos;
  }
  add_bandwidth(wanted, state);
  add_tasks(wanted, state);
  add_group_changes(wanted, state);
  add_unneeded(wanted, state);
  return {.rdt = std::move(wanted), .pstate = frequency_setting_of(state)};
}

Baselines unclaimed(const NodeState& state, const Setting& setting) {
  const Baselines& baselines = state.baselines;
  const Observed& observed = state.observed;
  Baselines added;
  for (const auto& [clos, caches] : setting.rdt.ways) {
    if (clos != kRootClass) continue;
    const auto claimed = baselines.ways.find(clos);
    for (const auto& [cache, wanted] : caches) {
      if (claimed != baselines.ways.end() && claimed->second.contains(cache)) continue;
      if (const auto ways = ways_of(observed.rdt, clos, cache)) added.ways[clos][cache] = *ways;
    }
  }
  std::map<CpuId, ClosId> cpus;
  for (const auto& [cpu, wanted] : setting.rdt.cpus) {
    // A CPU in a foreign group has no class to return to except the root class.
    if (!baselines.cpus.contains(cpu)) cpus[cpu] = class_of(observed.rdt, cpu).value_or(kRootClass);
  }
  added.cpus = std::move(cpus);
  for (const ClosId clos : setting.rdt.made) {
    if (!baselines.groups.contains(clos)) added.groups.insert(clos);
  }
  for (const auto& [clos, limits] : setting.rdt.bandwidth) {
    if (clos != kRootClass) continue;
    const auto claimed = baselines.bandwidth.find(clos);
    for (const auto& [cache, limit] : limits) {
      const bool is_claimed = claimed != baselines.bandwidth.end() && claimed->second.contains(cache) &&
                              claimed->second.at(cache).unit == limit.unit;
      if (is_claimed) continue;
      if (const auto before = limit_of(observed.rdt, clos, cache)) added.bandwidth[clos][cache] = {limit.unit, *before};
    }
  }
  for (const auto& [task, clos] : setting.rdt.tasks) {
    if (clos != kRootClass && !baselines.tasks.contains({task, clos})) added.tasks.insert({task, clos});
  }
  claim_frequencies(added, state, setting.pstate);
  return added;
}

CpuSet unreadable(const NodeState& state, const Setting& setting) {
  CpuSet cpus;
  for (const auto& [cpu, wanted] : setting.pstate.cpus) {
    if (!original_setting(state, cpu)) cpus.add(cpu);
  }
  return cpus;
}

Setting changes(Setting setting, const pstate::Setting& before) {
  const auto leave_out_same = [](auto& cpus, const auto& as_before) {
    std::erase_if(cpus, [&as_before](const auto& entry) {
      const auto same = as_before.find(entry.first);
      return same != as_before.end() && same->second == entry.second;
    });
  };
  leave_out_same(setting.pstate.cpus, before.cpus);
  leave_out_same(setting.pstate.put_back, before.put_back);
  return setting;
}

Setting only_frequencies(const Setting& setting, const CpuSet& cpus) {
  Setting frequencies;
  for (const auto& [cpu, knobs] : setting.pstate.cpus) {
    if (cpus.contains(cpu)) frequencies.pstate.cpus.emplace(cpu, knobs);
  }
  return frequencies;
}

Setting tasks_of(Setting setting) {
  Setting tasks;
  tasks.rdt.tasks = std::move(setting.rdt.tasks);
  tasks.rdt.without_tasks = std::move(setting.rdt.without_tasks);
  return tasks;
}

Observed with_applied(Observed observed, const Setting& setting) {
  for (const ClosId clos : setting.rdt.made) observed.rdt.classes[clos];
  for (const auto& [clos, caches] : setting.rdt.ways) {
    for (const auto& [cache, ways] : caches) {
      observed.rdt.classes[clos].ways[cache] = ways;
      observed.rdt.classes[clos].split.erase(cache);
      if (const auto split = setting.rdt.split_of(clos, cache)) observed.rdt.classes[clos].split[cache] = *split;
    }
  }
  for (const auto& [cpu, target] : setting.rdt.cpus) {
    for (auto& [clos, group] : observed.rdt.classes) group.cpus.remove(cpu);
    observed.rdt.classes[target].cpus.add(cpu);
  }
  for (const auto& [clos, limits] : setting.rdt.bandwidth) {
    for (const auto& [cache, limit] : limits) observed.rdt.classes[clos].bandwidth[cache] = limit.value;
  }
  for (const auto& [task, clos] : setting.rdt.tasks) {
    observed.rdt.tasks[task] = {clos == kRootClass ? "" : name_of(clos)};
    if (clos != kRootClass) observed.rdt.classes[clos].tasks = std::max<size_t>(observed.rdt.classes[clos].tasks, 1);
  }
  for (const ClosId clos : setting.rdt.without_tasks) {
    const auto group = observed.rdt.classes.find(clos);
    if (group != observed.rdt.classes.end()) group->second.tasks = 0;
  }
  for (const ClosId clos : setting.rdt.removed) {
    const auto group = observed.rdt.classes.find(clos);
    if (group == observed.rdt.classes.end()) continue;
    observed.rdt.classes[kRootClass].cpus |= group->second.cpus;
    observed.rdt.classes.erase(clos);
  }
  if (setting.pstate == pstate::Setting{}) return observed;
  std::map<CpuId, pstate::FrequencySetting>& cpus = observed.pstate.cpus.edit();
  for (const auto* frequencies : {&setting.pstate.put_back, &setting.pstate.cpus}) {
    for (const auto& [cpu, knobs] : *frequencies) cpus[cpu] = knobs;
  }
  return observed;
}

std::vector<KnobChange> knob_changes(const Setting& setting, const Observed& observed) {
  std::vector<KnobChange> found;
  for (const ClosId clos : setting.rdt.made) {
    if (!observed.rdt.classes.contains(clos))
      found.push_back({.knob = "group " + name_of(clos), .from = "absent", .to = "present"});
  }
  for (const ClosId clos : setting.rdt.removed) {
    if (observed.rdt.classes.contains(clos))
      found.push_back({.knob = "group " + name_of(clos), .from = "present", .to = "absent"});
  }
  for (const auto& [clos, caches] : setting.rdt.ways) {
    for (const auto& [cache, wanted] : caches) {
      const std::optional<WayMask> ways = ways_of(observed.rdt, clos, cache);
      const std::optional<rdt::Split> is = observed.rdt.split_of(clos, cache);
      const std::optional<rdt::Split> split = setting.rdt.split_of(clos, cache);
      if (ways == wanted && is == split) continue;
      found.push_back({.knob = name_of(clos) + " ways on " + text_of(cache),
                       .from = ways ? text_of(*ways, is) : "absent",
                       .to = text_of(wanted, split)});
    }
  }
  for (const auto& [cpu, wanted] : setting.rdt.cpus) {
    const std::optional<ClosId> clos = class_of(observed.rdt, cpu);
    if (clos == wanted) continue;
    found.push_back({.knob = "class of CPU " + std::to_string(cpu.value),
                     .from = clos ? name_of(*clos) : "a foreign group",
                     .to = name_of(wanted)});
  }
  for (const auto& [clos, limits] : setting.rdt.bandwidth) {
    for (const auto& [cache, wanted] : limits) {
      const std::optional<uint32_t> limit = limit_of(observed.rdt, clos, cache);
      if (limit == wanted.value) continue;
      found.push_back({.knob = name_of(clos) + " bandwidth on " + text_of(cache),
                       .from = limit ? std::to_string(*limit) : "gone",
                       .to = std::to_string(wanted.value)});
    }
  }
  add_task_changes(found, setting.rdt, observed.rdt);
  for (const auto& [cpu, wanted] : setting.pstate.cpus) {
    const auto knobs = observed.pstate.cpus.find(cpu);
    const bool is_there = knobs != observed.pstate.cpus.end();
    if (is_there && knobs->second == wanted) continue;
    found.push_back({.knob = "frequency of CPU " + std::to_string(cpu.value),
                     .from = is_there ? text_of(knobs->second) : "gone",
                     .to = text_of(wanted)});
  }
  return found;
}

std::string text_of(const KnobChange& change) { return change.knob + ": " + change.from + ", not " + change.to; }

std::vector<std::string> differences(const Setting& setting, const Observed& observed) {
  std::vector<std::string> found;
  for (const KnobChange& change : knob_changes(setting, observed)) {
    found.push_back(text_of(change));
  }
  return found;
}

}  // namespace nrd
