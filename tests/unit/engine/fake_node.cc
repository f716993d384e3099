#include "tests/unit/engine/fake_node.h"

#include <algorithm>

#include "engine/model/foreign_groups.h"
#include "tests/unit/engine/fake_zones.h"

namespace nrd::testing {

FakeHardware::FakeHardware(const NodeShape& shape) : shape_(shape) { reboot("boot-1"); }

FakeHardware::~FakeHardware() = default;

void FakeHardware::reboot(const std::string& boot_id) {
  facts = {};
  facts.boot_id = boot_id;
  rdt::CacheLevel l3;
  l3.cat = rdt::Cat{.classes = shape_.classes,
                    .ways = shape_.ways,
                    .min_ways = shape_.min_ways,
                    .shareable = shape_.shareable,
                    .sparse_masks = shape_.sparse_masks};
  tree = {};
  tasks = {};
  std::map<CacheId, CpuSet> l3_caches;
  std::map<CacheId, CpuSet> l2_caches;
  for (unsigned cpu = 0; cpu < shape_.sockets * shape_.cpus_per_socket; ++cpu) {
    facts.rdt.possible.add(CpuId{cpu});
    facts.rdt.online.add(CpuId{cpu});
    const uint32_t place = cpu / shape_.cpus_per_socket;
    l3_caches[CacheId{3, shape_.cache_ids.empty() ? place : shape_.cache_ids.at(place)}].add(CpuId{cpu});
    if (shape_.cpus_per_l2 > 0) l2_caches[{2, cpu / shape_.cpus_per_l2}].add(CpuId{cpu});
  }
  l3.caches = std::move(l3_caches);
  facts.rdt.levels = {{3, std::move(l3)}};
  if (shape_.cpus_per_l2 > 0) {
    facts.rdt.levels[2] = {.caches = std::move(l2_caches), .cat = rdt::Cat{shape_.classes, shape_.l2_ways, 1, {}}};
  }
  tree.rdt.classes[ClosId{0}] = new_group();
  tree.rdt.classes[ClosId{0}].cpus = facts.rdt.online;
  std::map<CpuId, pstate::Cpu> settable;
  std::map<CpuId, pstate::FrequencySetting> present;
  for (const CpuId cpu : facts.rdt.online.members()) {
    settable.emplace(cpu, facts_of(cpu));
    present[cpu] = {KHz{800'000}, KHz{3'500'000}, "powersave", "balance_performance"};
  }
  facts.pstate.cpus = std::move(settable);
  facts.cpuset.zones = zones_of(shape_.sockets, shape_.cpus_per_socket, shape_.threads_per_core);
  tree.pstate.cpus = std::move(present);
  for (const CpuId cpu : facts.rdt.possible.members()) tree.cpuset.latency[cpu] = "0";
  using Kind = cpuset::NoiseSource::Kind;
  for (const Kind kind : {Kind::NewInterrupts, Kind::Workqueues, Kind::Watchdog})
    tree.cpuset.noise[{kind, 0}] = facts.rdt.possible;
}

void FakeHardware::add_task(const Task& task, const CpuSet& cpus) {
  tasks[task] = "";
  tree.cpuset.targets[{.task = task}] = {.cpus = cpus};
}

CpuSet FakeHardware::cpus_of(const Task& task) const { return tree.cpuset.targets.at({.task = task}).cpus; }

rdt::Class FakeHardware::new_group() const {
  rdt::Class group;
  for (const auto& [cache, cpus] : facts.rdt.main().caches) group.ways[cache] = WayMask::all(shape_.ways);
  for (const auto& [cache, cpus] : facts.rdt.level_of(2).caches) group.ways[cache] = WayMask::all(shape_.l2_ways);
  if (const auto& mba = facts.rdt.capabilities.mba_info) {
    for (const auto& [cache, cpus] : facts.rdt.main().caches) group.bandwidth[cache] = mba->most;
  }
  return group;
}

size_t FakeHardware::tasks_in(ClosId clos) const {
  const std::string name = "COS" + std::to_string(clos.value);
  return static_cast<size_t>(std::ranges::count_if(tasks, [&name](const auto& entry) { return entry.second == name; }));
}

Result<NodeFacts> FakeHardware::discover() { return facts; }

Result<Observed> FakeHardware::observe(const CpuSet& frequencies, const std::set<Task>& asked,
                                       const cpuset::Query& query) {
  ++observations;
  frequencies_observed |= frequencies;
  Observed observed = tree;
  for (const Task& task : asked) observed.rdt.tasks[task] = place_of(task);
  for (const auto& [target, group] : observed.cpuset.groups)
    for (const Task& task : group.processes) observed.rdt.tasks[task] = place_of(task);
  for (auto& [clos, group] : observed.rdt.classes) group.tasks = tasks_in(clos);
  std::erase_if(observed.cpuset.targets, [&](const auto& entry) { return !query.targets.contains(entry.first); });
  std::erase_if(observed.cpuset.shares, [&](const auto& entry) { return !query.shares.contains(entry.first); });
  std::erase_if(observed.cpuset.memory, [&](const auto& entry) { return !query.memory.contains(entry.first); });
  std::erase_if(observed.cpuset.latency, [&](const auto& entry) { return !query.latency.contains(entry.first); });
  observed.cpuset.noise.clear();
  std::erase_if(observed.pstate.cpus.edit(), [&](const auto& entry) { return !frequencies.contains(entry.first); });
  return observed;
}

std::vector<cpuset::Conflict> FakeHardware::conflicts(const cpuset::PoolUse& use) {
  searched = use;
  return foreign;
}

std::string FakeHardware::partition() {
  return tree.cpuset.targets[{.kind = cpuset::Target::Kind::Partition, .name = "nrd.slice"}].partition;
}

Result<std::map<std::string, CpuSet>> FakeHardware::pinned_services() { return pinned; }

Result<std::vector<cpuset::Pinned>> FakeHardware::pinned_by(const cpuset::Setting& changed) {
  return changed.limited.empty() ? std::vector<cpuset::Pinned>() : overwritten;
}

Result<pstate::Observed> FakeHardware::observe_frequencies(const CpuSet& cpus, const pstate::Observed& last) {
  pstate::Observed observed = tree.pstate;
  std::erase_if(observed.cpus.edit(), [&cpus](const auto& entry) { return !cpus.contains(entry.first); });
  for (auto& [cpu, knobs] : observed.cpus.edit()) {
    if (const auto* known = find_in(last.cpus, cpu)) knobs.epp = known->epp;
  }
  return observed;
}

std::map<cpuset::NoiseSource, CpuSet> FakeHardware::observe_noise() {
  std::map<cpuset::NoiseSource, CpuSet> noise = tree.cpuset.noise;
  for (const cpuset::NoiseSource& source : refused_) noise.erase(source);
  return noise;
}

Result<std::set<std::string>> FakeHardware::group_names() { return nrd::group_names(tree.rdt); }

std::map<CpuId, KHz> FakeHardware::current_frequencies(const CpuSet&) { return {}; }

Result<std::set<Task>> FakeHardware::find_processes(const std::vector<std::string>&, const std::set<uid_t>&) {
  return matching;
}

ChangeMemory FakeHardware::memory_changer() {
  return [this](const cpuset::MemoryChange& change) { return change_memory(change); };
}

Result<void> FakeHardware::await_locks() {
  if (!is_locked) return {};
  ++lock_waits;
  return fail(ErrorCode::Busy, "the resctrl tree is locked");
}

Result<CpuSet> FakeHardware::converge(const Setting& wanted) {
  converged_frequencies = wanted.pstate;
  TRY(make_groups(wanted.rdt));
  TRY(set_ways(wanted.rdt));
  TRY(limit_bandwidth(wanted.rdt));
  CpuSet left = TRY(set_frequencies(wanted.pstate));
  TRY(move_tasks(wanted.rdt));
  TRY(limit_targets(wanted.cpuset));
  TRY(set_shares(wanted.cpuset));
  TRY(bind_memory(wanted.cpuset));
  TRY(limit_latency(wanted.cpuset));
  TRY(move_noise(wanted.cpuset));
  TRY(move_cpus(wanted.rdt));
  TRY(remove_groups(wanted.rdt));
  return left;
}

Result<void> FakeHardware::make_groups(const rdt::Setting& wanted) {
  for (const ClosId clos : wanted.made) {
    if (tree.rdt.classes.contains(clos)) continue;
    if (tree.rdt.classes.size() + tree.rdt.foreign.size() >= facts.rdt.main().cat->classes)
      return fail(ErrorCode::NoClass, "the kernel cannot create another resctrl group");
    if (fails()) return fail(ErrorCode::Hardware, "group was not made");
    tree.rdt.classes[clos] = new_group();
  }
  return {};
}

Result<void> FakeHardware::set_ways(const rdt::Setting& wanted) {
  for (const auto& [clos, caches] : wanted.ways) {
    for (const auto& [cache, ways] : caches) {
      rdt::Class& group = tree.rdt.classes.at(clos);
      WayMask& knob = group.ways.at(cache);
      const std::optional<rdt::Split> split = wanted.split_of(clos, cache);
      if (knob == ways && tree.rdt.split_of(clos, cache) == split) continue;
      const rdt::Cat& cat = *facts.rdt.cat_of(cache);
      const bool is_legal = ways.is_contiguous() || cat.sparse_masks;
      if (!is_legal || ways.count() < cat.min_ways || !WayMask::all(cat.ways).contains(ways)) {
        return fail(ErrorCode::Hardware, "the kernel would refuse " + ways.hex());
      }
      if (fails()) return fail(ErrorCode::Hardware, "class did not take ways");
      knob = ways;
      group.split.erase(cache);
      if (split) group.split[cache] = *split;
    }
  }
  return {};
}

Result<void> FakeHardware::limit_bandwidth(const rdt::Setting& wanted) {
  for (const auto& [clos, limits] : wanted.bandwidth) {
    for (const auto& [cache, limit] : limits) {
      uint32_t& knob = tree.rdt.classes.at(clos).bandwidth[cache];
      if (knob == limit.value) continue;
      if (fails()) return fail(ErrorCode::Hardware, "class did not take bandwidth");
      knob = limit.value;
    }
  }
  return {};
}

Result<CpuSet> FakeHardware::set_frequencies(const pstate::Setting& wanted) {
  CpuSet left;
  for (const auto& [cpu, knobs] : wanted.put_back) {
    const auto knob = tree.pstate.cpus.find(cpu);
    if (knob == tree.pstate.cpus.end() || stuck.contains(cpu) || (knob->second != knobs && fails())) {
      left.add(cpu);
      continue;
    }
    for (const CpuId other : facts.pstate.cpus.at(cpu).domain.members()) tree.pstate.cpus.edit().at(other) = knobs;
  }
  for (const auto& [cpu, knobs] : wanted.cpus) {
    if (stuck.contains(cpu)) return fail(ErrorCode::Hardware, "CPU is stuck");
    if (tree.pstate.cpus.at(cpu) == knobs) continue;
    const pstate::Cpu& limits = facts.pstate.cpus.at(cpu);
    if (knobs.min < limits.min || knobs.max > limits.max || knobs.min > knobs.max) {
      return fail(ErrorCode::Hardware, "the kernel would refuse that window");
    }
    if (fails()) return fail(ErrorCode::Hardware, "CPU did not take its window");
    for (const CpuId other : limits.domain.members()) tree.pstate.cpus.edit().at(other) = knobs;
  }
  return left;
}

Result<void> FakeHardware::move_tasks(const rdt::Setting& wanted) {
  for (const auto& [task, home] : wanted.tasks) {
    const auto found = tasks.find(task);
    const std::string place = home == ClosId{0} ? "" : "COS" + std::to_string(home.value);
    if (found == tasks.end() || found->second == place) continue;
    if (fails()) return fail(ErrorCode::Hardware, "task did not move");
    found->second = place;
  }
  for (const ClosId clos : wanted.without_tasks) {
    for (auto& [task, place] : tasks) {
      if (place != "COS" + std::to_string(clos.value)) continue;
      if (fails()) return fail(ErrorCode::Hardware, "task did not move");
      place = "";
    }
  }
  return {};
}

template <typename Knobs>
Result<void> FakeHardware::write_knobs(const Knobs& wanted, Knobs& present, const char* refusal) {
  for (const auto& [key, value] : wanted) {
    const auto found = present.find(key);
    if (found == present.end() || found->second == value) continue;
    if (fails()) return fail(ErrorCode::Hardware, refusal);
    found->second = value;
  }
  return {};
}

Result<void> FakeHardware::limit_targets(const cpuset::Setting& wanted) {
  for (const auto& [target, cpus] : wanted.limited) {
    const auto found = tree.cpuset.targets.find(target);
    const cpuset::Masks masks = limited_to(target, cpus);
    if (found == tree.cpuset.targets.end() || found->second == masks) continue;
    if (cpus.empty()) return fail(ErrorCode::Hardware, "the kernel would refuse an empty set");
    if (fails()) return fail(ErrorCode::Hardware, "target was not limited");
    found->second = masks;
  }
  for (const auto& [thread, cpus] : wanted.pinned) returned[thread] = cpus;
  return write_knobs(wanted.restored, tree.cpuset.targets, "target was not restored");
}

Result<void> FakeHardware::set_shares(const cpuset::Setting& wanted) {
  return write_knobs(wanted.shares, tree.cpuset.shares, "target did not take its share");
}

Result<void> FakeHardware::bind_memory(const cpuset::Setting& wanted) {
  for (const auto& [target, own] : wanted.restored_memory) {
    const auto found = tree.cpuset.memory.find(target);
    if (found == tree.cpuset.memory.end() || found->second.own == own) continue;
    if (fails()) return fail(ErrorCode::Hardware, "target did not get its memory back");
    found->second.own = own;
    found->second.nodes = own.empty() ? facts.cpuset.memory_nodes : own;
  }
  for (const auto& [target, nodes] : wanted.memory) {
    const auto found = tree.cpuset.memory.find(target);
    if (found == tree.cpuset.memory.end() || found->second.nodes == nodes) continue;
    if (fails() || found->second.is_used) return fail(ErrorCode::Hardware, "target did not take its memory");
    found->second.nodes = found->second.own = nodes;
  }
  return {};
}

Result<void> FakeHardware::limit_latency(const cpuset::Setting& wanted) {
  return write_knobs(wanted.latency, tree.cpuset.latency, "CPU did not take its latency limit");
}

Result<void> FakeHardware::move_noise(const cpuset::Setting& wanted) {
  for (const auto* sources : {&wanted.restored_noise, &wanted.noise}) {
    for (const auto& [source, cpus] : *sources) {
      const auto found = tree.cpuset.noise.find(source);
      if (found == tree.cpuset.noise.end() || found->second == cpus) continue;
      if (!cpus.intersects(facts.rdt.online)) return fail(ErrorCode::Hardware, "the kernel would refuse these CPUs");
      if (immovable.contains(source)) {
        if (sources == &wanted.noise) refused_.insert(source);
        continue;
      }
      if (fails()) return fail(ErrorCode::Hardware, "source of noise was not moved");
      found->second = cpus;
    }
  }
  return {};
}

Result<void> FakeHardware::move_cpus(const rdt::Setting& wanted) {
  for (const auto& [cpu, home] : wanted.cpus) {
    if (tree.rdt.classes.at(home).cpus.contains(cpu)) continue;
    if (fails()) return fail(ErrorCode::Hardware, "CPU did not move");
    for (auto& [clos, group] : tree.rdt.classes) group.cpus.remove(cpu);
    tree.rdt.classes.at(home).cpus.add(cpu);
  }
  return {};
}

Result<void> FakeHardware::remove_groups(const rdt::Setting& wanted) {
  for (const ClosId clos : wanted.removed) {
    const auto group = tree.rdt.classes.find(clos);
    if (group == tree.rdt.classes.end()) continue;
    if (fails()) return fail(ErrorCode::Hardware, "group was not removed");
    tree.rdt.classes.at(ClosId{0}).cpus |= group->second.cpus;
    for (auto& [task, place] : tasks) {
      if (place == "COS" + std::to_string(clos.value)) place = "";
    }
    tree.rdt.classes.erase(group);
  }
  return {};
}

Result<void> FakeHardware::change_memory(const cpuset::MemoryChange& change) {
  std::unique_lock hold(memory_lock);
  memory_gate.wait(hold, [this] { return !is_memory_gate_closed; });
  memory_changes.push_back(change);
  const auto found = tree.cpuset.memory.find(change.target);
  if (found == tree.cpuset.memory.end()) return {};
  if (is_memory_stuck) return fail(ErrorCode::Hardware, "memory did not move");
  const bool is_all = change.kind == cpuset::MemoryChange::Kind::Release;
  found->second.nodes = is_all ? facts.cpuset.memory_nodes : change.nodes;
  found->second.own = change.nodes;
  return {};
}

void FakeHardware::open_memory_gate() {
  const std::lock_guard hold(memory_lock);
  is_memory_gate_closed = false;
  memory_gate.notify_all();
}

rdt::Usages FakeHardware::count_usage(const std::map<ClosId, std::set<CacheId>>& classes, const std::set<ClosId>&) {
  usage_counted.push_back(classes);
  return usages;
}

std::map<CpuId, pstate::BranchCounts> FakeHardware::count_branches(const CpuSet& cpus) {
  counted_on = cpus;
  std::map<CpuId, pstate::BranchCounts> counts;
  for (const CpuId cpu : (cpus - uncountable).members()) counts[cpu] = branches[cpu];
  return counts;
}

std::set<std::string> FakeHardware::place_of(const Task& task) const {
  const auto found = tasks.find(task);
  if (found == tasks.end()) return {};
  return {found->second};
}

bool FakeHardware::fails() {
  ++writes;
  return writes == fail_at_write || (broken_from_write && writes >= *broken_from_write);
}

pstate::Cpu FakeHardware::facts_of(CpuId cpu) const {
  CpuSet domain;
  const uint32_t first = cpu.value - cpu.value % shape_.cpus_per_domain;
  for (uint32_t i = 0; i < shape_.cpus_per_domain; ++i) domain.add(CpuId{first + i});
  return {.way = pstate::Interface::Cpufreq,
          .driver = "intel_pstate",
          .min = KHz{800'000},
          .max = KHz{3'500'000},
          .base = KHz{2'200'000},
          .domain = domain & facts.rdt.possible,
          .governors = {"performance", "powersave"},
          .epps = {"performance", "balance_performance", "power"}};
}

template Change<json::Partial<CacheRequest>> members<CacheRequest>(const std::string& text);
template Change<json::Partial<CpuRequest>> members<CpuRequest>(const std::string& text);
template Change<json::Partial<L2Request>> members<L2Request>(const std::string& text);

}  // namespace nrd::testing
