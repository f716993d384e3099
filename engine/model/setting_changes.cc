#include "engine/model/setting_changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/find_in.h"
#include "base/joined.h"
#include "engine/hardware.h"

namespace nrd {
namespace {

// Null: it has none.
const uint32_t* limit_of(const rdt::Observed& observed, ClosId clos, CacheId cache) {
  const rdt::Class* group = find_in(observed.classes, clos);
  return group ? find_in(group->bandwidth, cache) : nullptr;
}

// Names of group directories for messages.
std::string text_of(const std::set<std::string>& places) {
  return joined(places, " ", [](const std::string& place) { return place.empty() ? "COS0" : place; });
}

// Leave tasks in foreign groups untouched if they must be in no class of nrd.
bool is_right(const std::set<std::string>& places, ClosId wanted) {
  if (wanted != kRootClass) return places == std::set<std::string>{text_of(wanted)};
  return std::ranges::none_of(places, [](const std::string& place) { return place.starts_with("COS"); });
}

std::string text_of(const Task& task) { return (task.is_process() ? "process " : "thread ") + std::to_string(task.id); }

void add_task_changes(std::vector<KnobChange>& found, const rdt::Setting& setting, const rdt::Observed& observed) {
  for (const auto& [task, wanted] : setting.tasks) {
    const auto* places = find_in(observed.tasks, task);
    if (!places && wanted == kRootClass) continue;
    if (places && (places->empty() || is_right(*places, wanted))) continue;
    found.push_back(
        {.knob = "class of " + text_of(task), .from = places ? text_of(*places) : "COS0", .to = text_of(wanted)});
  }
  for (const ClosId clos : setting.without_tasks) {
    const rdt::Class* group = find_in(observed.classes, clos);
    if (!group || !group->has_tasks()) continue;
    found.push_back({.knob = "tasks of " + text_of(clos), .from = "some", .to = "none"});
  }
}

std::string text_of(const cpuset::Target& target) {
  return target.kind == cpuset::Target::Kind::Task ? text_of(target.task) : target.name;
}

std::string text_of(const cpuset::Masks& masks) {
  std::string text = masks.cpus.to_string();
  if (!masks.exceptions.empty()) {
    const auto& [thread, cpus] = *masks.exceptions.begin();
    text += fmt::format(" (thread {}: {})", thread, cpus.to_string());
  }
  return masks.partition.empty() ? text : fmt::format("{} ({})", text, masks.partition);
}

// Whatever the unit or cgroup itself says.
bool runs_same(const cpuset::Masks& a, const cpuset::Masks& b) {
  return a.cpus == b.cpus && a.exceptions == b.exceptions && a.partition == b.partition;
}

// Not of targets that are gone.
void add_cpu_set_changes(std::vector<KnobChange>& found, const cpuset::Setting& setting,
                         const cpuset::Observed& observed) {
  const auto add = [&](const cpuset::Target& target, const cpuset::Masks& wanted) {
    const cpuset::Masks* masks = find_in(observed.targets, target);
    if (masks && (masks->cpus.empty() || runs_same(*masks, wanted))) return;
    found.push_back({.knob = "CPUs of " + text_of(target),
                     .from = masks ? text_of(*masks) : "not observed yet",
                     .to = text_of(wanted)});
  };
  for (const auto& [target, cpus] : setting.limited) add(target, limited_to(target, cpus));
  for (const auto& [target, before] : setting.restored) add(target, before);
}

std::string text_of(const cpuset::Share& share) {
  const std::string weight = share.weight == 0 ? "no weight" : fmt::format("weight {}", share.weight);
  if (share.quota_us == 0) return weight;
  return fmt::format("{}, {} us of each {} us", weight, share.quota_us, share.period_us);
}

std::string text_of(const CpuSet& cpus) { return cpus.to_string(); }
std::string text_of(const cpuset::LatencyLimit& limit) { return limit; }

// Not of targets, CPUs and sources that are gone.
void add_changes(std::vector<KnobChange>& found, const auto& wanted, const auto& observed, const auto& name_of) {
  for (const auto& [key, value] : wanted) {
    const auto* present = find_in(observed, key);
    if (!present || *present == value) continue;
    found.push_back({.knob = name_of(key), .from = text_of(*present), .to = text_of(value)});
  }
}

// Not of targets that are gone.
void add_memory_changes(std::vector<KnobChange>& found, const cpuset::Setting& setting,
                        const cpuset::Observed& observed) {
  const auto add = [&found](const cpuset::Target& target, const std::string& from, const std::string& to) {
    found.push_back({.knob = "memory nodes of " + text_of(target), .from = from, .to = to});
  };
  for (const auto& [target, nodes] : setting.memory) {
    const cpuset::Memory* memory = find_in(observed.memory, target);
    if (memory && memory->nodes != nodes) add(target, memory->nodes.to_string(), nodes.to_string());
  }
  for (const auto& [target, own] : setting.restored_memory) {
    const cpuset::Memory* memory = find_in(observed.memory, target);
    // With processes, a cgroup keeps a list of all.
    if (!memory || memory->own == own || memory->is_used) continue;
    add(target, memory->own.to_string(), own.empty() ? "as its parent" : own.to_string());
  }
}

void add_cpu_changes(std::vector<KnobChange>& found, const cpuset::Setting& setting, const cpuset::Observed& observed) {
  const auto time_of = [](const cpuset::Target& target) { return "CPU time of " + text_of(target); };
  const auto latency_of = [](CpuId cpu) { return fmt::format("idle latency limit of CPU {}", cpu.value); };
  const auto noise_of = [](const cpuset::NoiseSource& source) { return "CPUs of " + text_of(source); };
  add_cpu_set_changes(found, setting, observed);
  add_changes(found, setting.shares, observed.shares, time_of);
  add_memory_changes(found, setting, observed);
  add_changes(found, setting.latency, observed.latency, latency_of);
  // Not of what refuses to move back: it is where nrd has put it.
  add_changes(found, setting.noise, observed.noise, noise_of);
}

std::string text_of(WayMask ways, const std::optional<rdt::Split>& split) {
  return ways.hex() + (split ? fmt::format(" (code {}, data {})", split->code.hex(), split->data.hex()) : "");
}

std::string text_of(const pstate::FrequencySetting& knobs) {
  std::string text = fmt::format("{}-{} kHz", knobs.min.value, knobs.max.value);
  if (!knobs.governor.empty()) text += " " + knobs.governor;
  if (!knobs.epp.empty()) text += " " + knobs.epp;
  return text;
}

void apply(const cpuset::Setting& setting, cpuset::Observed& observed) {
  for (const auto& [target, cpus] : setting.limited) observed.targets[target] = limited_to(target, cpus);
  for (const auto& [target, before] : setting.restored) observed.targets[target] = before;
  for (const auto& [target, share] : setting.shares) observed.shares[target] = share;
  for (const auto& [target, own] : setting.restored_memory) observed.memory[target].own = own;
  for (const auto& [target, nodes] : setting.memory) {
    observed.memory[target].nodes = nodes;
    observed.memory[target].own = nodes;
  }
  for (const auto& [cpu, limit] : setting.latency) observed.latency[cpu] = limit;
  for (const auto& [source, cpus] : setting.noise) observed.noise[source] = cpus;
}

// Of `wanted`, what `present` has with the same value.
void leave_out_same(auto& wanted, const auto& present) {
  std::erase_if(wanted, [&present](const auto& entry) {
    const auto* same = find_in(present, entry.first);
    return same && *same == entry.second;
  });
}

}  // namespace

pstate::Setting changes(pstate::Setting setting, const pstate::Setting& before) {
  leave_out_same(setting.cpus, before.cpus);
  leave_out_same(setting.put_back, before.put_back);
  return setting;
}

Setting without_applied(Setting setting, const Observed& observed) {
  leave_out_same(setting.cpuset.shares, observed.cpuset.shares);
  const auto& memory = observed.cpuset.memory;
  std::erase_if(setting.cpuset.memory, [&memory](const auto& entry) {
    const cpuset::Memory* found = find_in(memory, entry.first);
    return found && found->nodes == entry.second && (found->is_used || found->own == entry.second);
  });
  std::erase_if(setting.cpuset.restored_memory, [&memory](const auto& entry) {
    const cpuset::Memory* found = find_in(memory, entry.first);
    return found && found->own == entry.second;
  });
  leave_out_same(setting.cpuset.latency, observed.cpuset.latency);
  leave_out_same(setting.cpuset.noise, observed.cpuset.noise);
  leave_out_same(setting.cpuset.restored_noise, observed.cpuset.noise);
  return setting;
}

Setting without_same_limits(Setting setting, const cpuset::Setting& before) {
  leave_out_same(setting.cpuset.limited, before.limited);
  leave_out_same(setting.cpuset.restored, before.restored);
  return setting;
}

Setting without_confinement(Setting setting) {
  std::erase_if(setting.cpuset.limited, [](const auto& entry) { return confines(entry.first); });
  std::erase_if(setting.cpuset.restored, [](const auto& entry) { return confines(entry.first); });
  return setting;
}

cpuset::Setting changed_cpu_sets(const cpuset::Setting& setting, const cpuset::Observed& observed) {
  cpuset::Setting changed{.limited = setting.limited, .restored = setting.restored};
  std::erase_if(changed.limited, [&observed](const auto& entry) {
    const cpuset::Masks* found = find_in(observed.targets, entry.first);
    return found && found->is_exactly(entry.second);
  });
  return changed;
}

Setting only_frequencies(const pstate::Setting& setting, const CpuSet& cpus) {
  Setting frequencies;
  for (const auto& [cpu, knobs] : setting.cpus) {
    if (cpus.contains(cpu)) frequencies.pstate.cpus.emplace(cpu, knobs);
  }
  return frequencies;
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
    observed.rdt.tasks[task] = {clos == kRootClass ? "" : text_of(clos)};
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
  apply(setting.cpuset, observed.cpuset);
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
      found.push_back({.knob = "group " + text_of(clos), .from = "absent", .to = "present"});
  }
  for (const ClosId clos : setting.rdt.removed) {
    if (observed.rdt.classes.contains(clos))
      found.push_back({.knob = "group " + text_of(clos), .from = "present", .to = "absent"});
  }
  for (const auto& [clos, caches] : setting.rdt.ways) {
    for (const auto& [cache, wanted] : caches) {
      const std::optional<WayMask> ways = observed.rdt.ways_of(clos, cache);
      const std::optional<rdt::Split> is = observed.rdt.split_of(clos, cache);
      const std::optional<rdt::Split> split = setting.rdt.split_of(clos, cache);
      if (ways == wanted && is == split) continue;
      found.push_back({.knob = fmt::format("{} ways on {}", text_of(clos), text_of(cache)),
                       .from = ways ? text_of(*ways, is) : "absent",
                       .to = text_of(wanted, split)});
    }
  }
  for (const auto& [cpu, wanted] : setting.rdt.cpus) {
    const std::optional<ClosId> clos = observed.rdt.class_of(cpu);
    if (clos == wanted) continue;
    found.push_back({.knob = fmt::format("class of CPU {}", cpu.value),
                     .from = clos ? text_of(*clos) : "a foreign group",
                     .to = text_of(wanted)});
  }
  for (const auto& [clos, limits] : setting.rdt.bandwidth) {
    for (const auto& [cache, wanted] : limits) {
      const uint32_t* limit = limit_of(observed.rdt, clos, cache);
      if (limit && *limit == wanted.value) continue;
      found.push_back({.knob = fmt::format("{} bandwidth on {}", text_of(clos), text_of(cache)),
                       .from = limit ? std::to_string(*limit) : "gone",
                       .to = std::to_string(wanted.value)});
    }
  }
  add_task_changes(found, setting.rdt, observed.rdt);
  add_cpu_changes(found, setting.cpuset, observed.cpuset);
  for (const auto& [cpu, wanted] : setting.pstate.cpus) {
    const pstate::FrequencySetting* knobs = find_in(observed.pstate.cpus, cpu);
    if (knobs && *knobs == wanted) continue;
    found.push_back({.knob = fmt::format("frequency of CPU {}", cpu.value),
                     .from = knobs ? text_of(*knobs) : "gone",
                     .to = text_of(wanted)});
  }
  return found;
}

std::string text_of(const KnobChange& change) {
  return fmt::format("{}: {}, not {}", change.knob, change.from, change.to);
}

std::vector<std::string> differences(const Setting& setting, const Observed& observed) {
  std::vector<std::string> found;
  for (const KnobChange& change : knob_changes(setting, observed)) {
    found.push_back(text_of(change));
  }
  return found;
}

}  // namespace nrd
