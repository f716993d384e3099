// A node in memory that behaves as the kernel does, with fault injection.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json/members.h"
#include "base/json/reader.h"
#include "engine/hardware.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/workload_fields.h"
#include "tests/unit/engine/a_spec.h"
#include "tests/unit/engine/fake_store.h"
#include "tests/unit/engine/fake_zones.h"
#include "tests/unit/engine/node_shape.h"

namespace nrd::testing {

// The members of a part that a PATCH has: {"max": 3}.
template <typename T>
Change<json::Partial<T>> members(const std::string& text) {
  return json::parse_members<T>(*json::parse(text), "").value();
}
inline Change<json::Partial<CacheRequest>> max_and_min(uint32_t max, uint32_t min) {
  return members<CacheRequest>(R"({"max":)" + std::to_string(max) + R"(,"min":)" + std::to_string(min) + "}");
}
// null: removes the part.
template <typename T>
Change<json::Partial<T>> removed() {
  return Change<json::Partial<T>>(std::in_place);
}

class FakeHardware final : public Hardware {
 public:
  explicit FakeHardware(const NodeShape& shape) : shape_(shape) { reboot("boot-1"); }

  void reboot(const std::string& boot_id) {
    facts = {};
    facts.boot_id = boot_id;
    facts.rdt.cat = rdt::Cat{.classes = shape_.classes,
                             .ways = shape_.ways,
                             .min_ways = shape_.min_ways,
                             .shareable = shape_.shareable,
                             .sparse_masks = shape_.sparse_masks};
    tree = {};
    tasks = {};
    std::map<CacheId, CpuSet> caches;
    std::map<CacheId, CpuSet> l2;
    for (unsigned cpu = 0; cpu < shape_.sockets * shape_.cpus_per_socket; ++cpu) {
      facts.rdt.possible.add(CpuId{cpu});
      facts.rdt.online.add(CpuId{cpu});
      const uint32_t place = cpu / shape_.cpus_per_socket;
      caches[CacheId{shape_.cache_ids.empty() ? place : shape_.cache_ids.at(place)}].add(CpuId{cpu});
      if (shape_.cpus_per_l2 > 0) l2[{cpu / shape_.cpus_per_l2, true}].add(CpuId{cpu});
    }
    facts.rdt.caches = std::move(caches);
    facts.rdt.l2 = std::move(l2);
    if (shape_.cpus_per_l2 > 0) facts.rdt.l2_cat = rdt::Cat{shape_.classes, shape_.l2_ways, 1, {}};
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

  // A process that may run on `cpus`.
  void add_task(const Task& task, const CpuSet& cpus) {
    tasks[task] = "";
    tree.cpuset.targets[{.task = task}] = {.cpus = cpus};
  }
  CpuSet cpus_of(const Task& task) const { return tree.cpuset.targets.at({.task = task}).cpus; }

  // As mkdir makes it.
  rdt::Class new_group() const {
    rdt::Class group;
    for (const auto& [cache, cpus] : facts.rdt.caches) group.ways[cache] = WayMask::all(shape_.ways);
    for (const auto& [cache, cpus] : facts.rdt.l2) group.ways[cache] = WayMask::all(shape_.l2_ways);
    if (const auto& mba = facts.rdt.capabilities.mba_info) {
      for (const auto& [cache, cpus] : facts.rdt.caches) group.bandwidth[cache] = mba->most;
    }
    return group;
  }

  size_t tasks_in(ClosId clos) const {
    const std::string name = "COS" + std::to_string(clos.value);
    return static_cast<size_t>(
        std::ranges::count_if(tasks, [&name](const auto& entry) { return entry.second == name; }));
  }

  Result<NodeFacts> discover() override { return facts; }
  Result<Observed> observe(const CpuSet& frequencies, const std::set<Task>& asked,
                           const cpuset::Query& query) override {
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

  std::vector<cpuset::Conflict> conflicts(const cpuset::PoolUse& use) override {
    searched = use;
    return foreign;
  }

  std::string partition() override {
    return tree.cpuset.targets[{.kind = cpuset::Target::Kind::Partition, .name = "nrd.slice"}].partition;
  }
  Result<std::map<std::string, CpuSet>> pinned_services() override { return pinned; }
  Result<std::vector<cpuset::Pinned>> pinned_by(const cpuset::Setting& changed) override {
    return changed.limited.empty() ? std::vector<cpuset::Pinned>() : overwritten;
  }

  Result<pstate::Observed> observe_frequencies(const CpuSet& cpus) override {
    pstate::Observed observed = tree.pstate;
    std::erase_if(observed.cpus.edit(), [&cpus](const auto& entry) { return !cpus.contains(entry.first); });
    return observed;
  }

  std::map<cpuset::NoiseSource, CpuSet> observe_noise() override {
    std::map<cpuset::NoiseSource, CpuSet> noise = tree.cpuset.noise;
    for (const cpuset::NoiseSource& source : refused_) noise.erase(source);
    return noise;
  }

  Result<std::set<std::string>> group_names() override { return nrd::group_names(tree.rdt); }

  std::map<CpuId, KHz> current_frequencies(const CpuSet&) override { return {}; }

  Result<std::set<Task>> find_processes(const std::vector<std::string>&, const std::set<uid_t>&) override {
    return matching;
  }

  ChangeMemory memory_changer() override {
    return [this](const cpuset::MemoryChange& change) { return change_memory(change); };
  }

  // Writes knob by knob, so that a failure leaves some written and others not.
  Result<void> await_locks() override { return {}; }

  Result<CpuSet> converge(const Setting& wanted) override {
    converged_frequencies = wanted.pstate;
    for (const ClosId clos : wanted.rdt.made) {
      if (tree.rdt.classes.contains(clos)) continue;
      if (tree.rdt.classes.size() + tree.rdt.foreign.size() >= facts.rdt.cat->classes)
        return fail(ErrorCode::NoClass, "the kernel cannot create another resctrl group");
      if (fails()) return fail(ErrorCode::Hardware, "group was not made");
      tree.rdt.classes[clos] = new_group();
    }
    for (const auto& [clos, caches] : wanted.rdt.ways) {
      for (const auto& [cache, ways] : caches) {
        rdt::Class& group = tree.rdt.classes.at(clos);
        WayMask& knob = group.ways.at(cache);
        const std::optional<rdt::Split> split = wanted.rdt.split_of(clos, cache);
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
    for (const auto& [clos, limits] : wanted.rdt.bandwidth) {
      for (const auto& [cache, limit] : limits) {
        uint32_t& knob = tree.rdt.classes.at(clos).bandwidth[cache];
        if (knob == limit.value) continue;
        if (fails()) return fail(ErrorCode::Hardware, "class did not take bandwidth");
        knob = limit.value;
      }
    }
    CpuSet left;
    for (const auto& [cpu, knobs] : wanted.pstate.put_back) {
      const auto knob = tree.pstate.cpus.find(cpu);
      if (knob == tree.pstate.cpus.end() || stuck.contains(cpu) || (knob->second != knobs && fails())) {
        left.add(cpu);
        continue;
      }
      for (const CpuId other : facts.pstate.cpus.at(cpu).domain.members()) tree.pstate.cpus.edit().at(other) = knobs;
    }
    for (const auto& [cpu, knobs] : wanted.pstate.cpus) {
      if (stuck.contains(cpu)) return fail(ErrorCode::Hardware, "CPU is stuck");
      if (tree.pstate.cpus.at(cpu) == knobs) continue;
      const pstate::Cpu& limits = facts.pstate.cpus.at(cpu);
      if (knobs.min < limits.min || knobs.max > limits.max || knobs.min > knobs.max) {
        return fail(ErrorCode::Hardware, "the kernel would refuse that window");
      }
      if (fails()) return fail(ErrorCode::Hardware, "CPU did not take its window");
      for (const CpuId other : limits.domain.members()) tree.pstate.cpus.edit().at(other) = knobs;
    }
    for (const auto& [task, home] : wanted.rdt.tasks) {
      const auto found = tasks.find(task);
      const std::string place = home == ClosId{0} ? "" : "COS" + std::to_string(home.value);
      if (found == tasks.end() || found->second == place) continue;
      if (fails()) return fail(ErrorCode::Hardware, "task did not move");
      found->second = place;
    }
    for (const ClosId clos : wanted.rdt.without_tasks) {
      for (auto& [task, place] : tasks) {
        if (place != "COS" + std::to_string(clos.value)) continue;
        if (fails()) return fail(ErrorCode::Hardware, "task did not move");
        place = "";
      }
    }
    for (const auto& [target, cpus] : wanted.cpuset.limited) {
      const auto found = tree.cpuset.targets.find(target);
      const cpuset::Masks masks = limited_to(target, cpus);
      if (found == tree.cpuset.targets.end() || found->second == masks) continue;
      if (cpus.empty()) return fail(ErrorCode::Hardware, "the kernel would refuse an empty set");
      if (fails()) return fail(ErrorCode::Hardware, "target was not limited");
      found->second = masks;
    }
    for (const auto& [thread, cpus] : wanted.cpuset.pinned) returned[thread] = cpus;
    for (const auto& [target, before] : wanted.cpuset.restored) {
      const auto found = tree.cpuset.targets.find(target);
      if (found == tree.cpuset.targets.end() || found->second == before) continue;
      if (fails()) return fail(ErrorCode::Hardware, "target was not restored");
      found->second = before;
    }
    for (const auto* shares : {&wanted.cpuset.restored_shares, &wanted.cpuset.shares}) {
      for (const auto& [target, share] : *shares) {
        const auto found = tree.cpuset.shares.find(target);
        if (found == tree.cpuset.shares.end() || found->second == share) continue;
        if (fails()) return fail(ErrorCode::Hardware, "target did not take its share");
        found->second = share;
      }
    }
    for (const auto& [target, own] : wanted.cpuset.restored_memory) {
      const auto found = tree.cpuset.memory.find(target);
      if (found == tree.cpuset.memory.end() || found->second.own == own) continue;
      if (fails()) return fail(ErrorCode::Hardware, "target did not get its memory back");
      found->second.own = own;
      found->second.nodes = own.empty() ? facts.cpuset.memory_nodes : own;
    }
    for (const auto& [target, nodes] : wanted.cpuset.memory) {
      const auto found = tree.cpuset.memory.find(target);
      if (found == tree.cpuset.memory.end() || found->second.nodes == nodes) continue;
      if (fails() || found->second.is_used) return fail(ErrorCode::Hardware, "target did not take its memory");
      found->second.nodes = found->second.own = nodes;
    }
    for (const auto* limits : {&wanted.cpuset.restored_latency, &wanted.cpuset.latency}) {
      for (const auto& [cpu, limit] : *limits) {
        const auto found = tree.cpuset.latency.find(cpu);
        if (found == tree.cpuset.latency.end() || found->second == limit) continue;
        if (fails()) return fail(ErrorCode::Hardware, "CPU did not take its latency limit");
        found->second = limit;
      }
    }
    for (const auto* sources : {&wanted.cpuset.restored_noise, &wanted.cpuset.noise}) {
      for (const auto& [source, cpus] : *sources) {
        const auto found = tree.cpuset.noise.find(source);
        if (found == tree.cpuset.noise.end() || found->second == cpus) continue;
        if (!cpus.intersects(facts.rdt.online)) return fail(ErrorCode::Hardware, "the kernel would refuse these CPUs");
        if (immovable.contains(source)) {
          refused_.insert(source);
          continue;
        }
        if (fails()) return fail(ErrorCode::Hardware, "source of noise was not moved");
        found->second = cpus;
      }
    }
    for (const auto& [cpu, home] : wanted.rdt.cpus) {
      if (tree.rdt.classes.at(home).cpus.contains(cpu)) continue;
      if (fails()) return fail(ErrorCode::Hardware, "CPU did not move");
      for (auto& [clos, group] : tree.rdt.classes) group.cpus.remove(cpu);
      tree.rdt.classes.at(home).cpus.add(cpu);
    }
    for (const ClosId clos : wanted.rdt.removed) {
      const auto group = tree.rdt.classes.find(clos);
      if (group == tree.rdt.classes.end()) continue;
      if (fails()) return fail(ErrorCode::Hardware, "group was not removed");
      tree.rdt.classes.at(ClosId{0}).cpus |= group->second.cpus;
      for (auto& [task, place] : tasks) {
        if (place == "COS" + std::to_string(clos.value)) place = "";
      }
      tree.rdt.classes.erase(group);
    }
    return left;
  }

  // On another thread, once open_memory_gate() was called, if the gate is closed.
  Result<void> change_memory(const cpuset::MemoryChange& change) {
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
  void open_memory_gate() {
    const std::lock_guard hold(memory_lock);
    is_memory_gate_closed = false;
    memory_gate.notify_all();
  }

  rdt::Usages count_usage(const std::map<ClosId, std::set<CacheId>>& classes, const std::set<ClosId>&) override {
    usage_counted.push_back(classes);
    return usages;
  }

  std::map<CpuId, pstate::BranchCounts> count_branches(const CpuSet& cpus) override {
    counted_on = cpus;
    std::map<CpuId, pstate::BranchCounts> counts;
    for (const CpuId cpu : (cpus - uncountable).members()) counts[cpu] = branches[cpu];
    return counts;
  }

  cpuset::PoolUse searched;                 // by the last search for conflicts
  std::vector<cpuset::Conflict> foreign;    // what it finds
  std::map<std::string, CpuSet> pinned;     // services with CPUAffinity=
  std::vector<cpuset::Pinned> overwritten;  // by any new limit
  std::map<Task, CpuSet> returned;          // masks that threads got back
  rdt::Usages usages;                       // whatever is asked for
  std::vector<std::map<ClosId, std::set<CacheId>>> usage_counted;
  std::map<CpuId, pstate::BranchCounts> branches;
  CpuSet uncountable;
  CpuSet counted_on;
  unsigned observations = 0;
  CpuSet frequencies_observed;
  pstate::Setting converged_frequencies;  // as last wanted
  CpuSet stuck;                           // CPUs that take no frequency
  NodeFacts facts;
  Observed tree;
  std::set<cpuset::NoiseSource> immovable{};  // interrupts that the kernel manages
  std::set<Task> matching;                    // whatever the pattern; without boot_id
  std::map<Task, std::string> tasks;          // that live, and the group each is in
  std::mutex memory_lock;
  std::condition_variable memory_gate;
  bool is_memory_gate_closed = false;
  bool is_memory_stuck = false;
  std::vector<cpuset::MemoryChange> memory_changes;  // in this order
  uint64_t writes = 0;
  std::optional<uint64_t> fail_at_write;      // that write is refused, once
  std::optional<uint64_t> broken_from_write;  // that write and all after it are refused

 private:
  std::set<std::string> place_of(const Task& task) const {
    const auto found = tasks.find(task);
    if (found == tasks.end()) return {};
    return {found->second};
  }

  bool fails() {
    ++writes;
    return writes == fail_at_write || (broken_from_write && writes >= *broken_from_write);
  }

  pstate::Cpu facts_of(CpuId cpu) const {
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

  NodeShape shape_;
  std::set<cpuset::NoiseSource> refused_{};
};

}  // namespace nrd::testing
