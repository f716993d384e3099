#include "resctrl.h"

#include <algorithm>
#include <bit>
#include <cerrno>

namespace nrd::simnode {
namespace {

constexpr Kernel kClearsAlways{6, 13};

Cpus without(const Cpus& from, const Cpus& taken) {
  Cpus rest;
  std::set_difference(from.begin(), from.end(), taken.begin(), taken.end(), std::inserter(rest, rest.end()));
  return rest;
}

Ways lowest_run(Ways mask) {
  if (mask == 0) return 0;
  const int start = std::countr_zero(mask);
  const int length = std::countr_one(mask >> start);
  return ((Ways{1} << length) - 1) << start;
}

}  // namespace

Resctrl::Resctrl(const Machine& machine) : machine_(machine) { wipe(); }

void Resctrl::wipe() {
  groups_.clear();
  moved_to_root_.clear();
  status_.clear();
  io_alloc_.reset();
  groups_[""] = new_group(0);
  root().cpus = machine_.online();
  if (machine_.shape().io_alloc == IoAlloc::On) write_io_alloc(machine_.last_level(), "1\n");
}

const Group* Resctrl::group(const std::string& name) const {
  const auto found = groups_.find(name);
  return found == groups_.end() ? nullptr : &found->second;
}

// Old kernels clear what an earlier act left only in some acts.
void Resctrl::begin_act() {
  if (machine_.shape().kernel >= kClearsAlways) status_.clear();
}

int Resctrl::refuse(int error, std::string status) {
  status_ += status;
  return error;
}

int Resctrl::free_closid() const {
  std::set<int> used;
  for (const auto& [name, group] : groups_) {
    if (group.mode != Mode::Locked) used.insert(group.closid);
  }
  if (io_alloc_) used.insert(io_alloc_->closid);
  for (int closid = 0; closid < machine_.closids(); ++closid) {
    if (!used.contains(closid)) return closid;
  }
  return -1;
}

Group Resctrl::new_group(int closid) const {
  Group group;
  group.closid = closid;
  for (const CacheLevel& level : machine_.allocated_levels()) {
    Masks& masks = group.masks[level.number];
    for (const int cache : machine_.caches(level)) {
      const Ways kept = taken_on(level.number, cache, group, true) | locked_on(level.number, cache);
      masks.ways[cache] = lowest_run(level.full_mask() & ~kept);
    }
    if (level.cdp) masks.code = masks.ways;
  }
  if (!machine_.shape().mb) return group;
  for (const int cache : machine_.caches(machine_.last_level())) {
    group.bandwidth[cache] = machine_.bandwidth().highest;
  }
  return group;
}

int Resctrl::make_group(const std::string& name) {
  if (name.find('\n') != std::string::npos) return EINVAL;
  if (groups_.contains(name) || name == "info") return EEXIST;
  begin_act();
  const int closid = free_closid();
  if (closid < 0) return refuse(ENOSPC, "Out of CLOSIDs\n");
  Group group = new_group(closid);
  for (const CacheLevel& level : machine_.allocated_levels()) {
    for (const auto& [cache, ways] : group.masks.at(level.number).ways) {
      if (std::popcount(ways) < machine_.min_cbm_bits())
        return refuse(ENOSPC, "No space on " + level.name() + ":" + std::to_string(cache) + "\n");
    }
  }
  groups_.emplace(name, std::move(group));
  return 0;
}

// The kernel leaves last_cmd_status as it is.
int Resctrl::remove_group(const std::string& name) {
  if (name.empty()) return EPERM;
  const auto found = groups_.find(name);
  if (found == groups_.end()) return ENOENT;
  root().cpus.insert(found->second.cpus.begin(), found->second.cpus.end());
  groups_.erase(found);
  return 0;
}

int Resctrl::parse_cpus(std::string_view text, CpuForm form, Cpus& cpus) const {
  const int count = machine_.shape().cpus;
  return form == CpuForm::List ? parse_list(text, count, cpus) : parse_mask(text, count, cpus);
}

int Resctrl::write_schemata(const std::string& name, std::string_view text) {
  if (text.empty() || text.back() != '\n') return EINVAL;
  status_.clear();
  Group& group = groups_.at(name);
  if (group.mode == Mode::Locked) return refuse(EINVAL, "Resource group is pseudo-locked\n");
  const Parsed parsed = parse_schemata(
      text, machine_, group,
      [this, &group](const CacheLevel& level, int cache, Ways ways) { return clash(group, level, cache, ways); });
  if (!parsed.valid) return refuse(EINVAL, parsed.status);
  if (group.mode == Mode::LockSetup) {
    lock(group, parsed.settings);
  } else {
    apply(parsed.settings, group);
  }
  return 0;
}

int Resctrl::write_cpus(const std::string& name, std::string_view text, CpuForm form) {
  begin_act();
  Group& group = groups_.at(name);
  if (group.is_lock()) return refuse(EINVAL, "Pseudo-locking in progress\n");
  Cpus wanted;
  if (const int error = parse_cpus(text, form, wanted)) return refuse(error, "Bad CPU list/mask\n");
  if (!without(wanted, machine_.online()).empty()) return refuse(EINVAL, "Can only assign online CPUs\n");
  const Cpus dropped = without(group.cpus, wanted);
  if (name.empty() && !dropped.empty()) return refuse(EINVAL, "Can't drop CPUs from default group\n");
  root().cpus.insert(dropped.begin(), dropped.end());
  for (auto& [other, elsewhere] : groups_) elsewhere.cpus = without(elsewhere.cpus, wanted);
  group.cpus = wanted;
  return 0;
}

int Resctrl::move_task(Group& to, pid_t task) {
  const auto started = start_time(task);
  if (!started) return refuse(ESRCH, "No task " + std::to_string(task) + "\n");
  let_inherit();
  for (auto& [name, group] : groups_) group.tasks.erase(task);
  moved_to_root_.erase(task);
  (to.closid == 0 ? moved_to_root_ : to.tasks)[task] = {*started, ticks_now()};
  return 0;
}

void Resctrl::let_inherit() const {
  forget_the_dead(moved_to_root_);
  for (auto& [name, group] : groups_) {
    forget_the_dead(group.tasks);
    for (Tasks heirs = heirs_of(group.tasks); !heirs.empty(); heirs = heirs_of(group.tasks)) {
      const size_t before = group.tasks.size();
      for (const auto& [heir, stay] : heirs) {
        const bool is_elsewhere =
            std::ranges::any_of(groups_, [&its = heir](const auto& other) { return other.second.tasks.contains(its); });
        if (!is_elsewhere && !moved_to_root_.contains(heir)) group.tasks[heir] = stay;
      }
      if (group.tasks.size() == before) break;
    }
  }
}

int Resctrl::write_tasks(const std::string& name, std::string_view text, pid_t writer) {
  Group& group = groups_.at(name);
  const bool takes_lists = machine_.shape().kernel >= Kernel{6, 7};
  if (!takes_lists && parse_number(trimmed(text)).value_or(-1) < 0) return EINVAL;  // before the status is cleared
  status_.clear();
  if (group.is_lock()) return refuse(EINVAL, "Pseudo-locking in progress\n");
  std::optional<std::string_view> rest = trimmed(text);
  while (rest && !rest->empty()) {
    const std::string_view word = trimmed(*cut(rest, ','));
    const auto number = parse_number(word);
    if (!number) return refuse(EINVAL, "Task list parsing error pid " + std::string(word) + "\n");
    if (*number < 0) return refuse(EINVAL, "Invalid pid " + std::to_string(*number) + "\n");
    const pid_t task = *number == 0 ? writer : static_cast<pid_t>(*number);
    // As in the kernel, tasks before the one that failed have moved.
    if (const int error = move_task(group, task)) {
      if (takes_lists) status_ += "Error while processing task " + std::to_string(*number) + "\n";
      return error;
    }
  }
  return 0;
}

std::set<pid_t> Resctrl::tasks_of(const std::string& name) const {
  let_inherit();
  std::set<pid_t> found;
  if (name.empty()) found = every_task();
  for (const auto& [other, group] : groups_) {
    if (!name.empty() && other != name) continue;
    Tasks living = group.tasks;
    forget_the_dead(living);
    for (const auto& [task, started] : living) {
      if (name.empty()) {
        found.erase(task);
      } else {
        found.insert(task);
      }
    }
  }
  return found;
}

void Resctrl::cpu_went_offline(int cpu) {
  const auto take_away = [this, cpu](Group& group) {
    for (auto& [number, masks] : group.masks) {
      const CacheLevel& level = *std::ranges::find(machine_.levels(), number, &CacheLevel::number);
      const auto cache = level.cache_of(cpu);
      if (!cache || !machine_.cache_cpus(level, *cache).empty()) continue;
      masks.ways.erase(*cache);
      masks.code.erase(*cache);
    }
    const auto last = machine_.last_level().cache_of(cpu);
    if (last && machine_.cache_cpus(machine_.last_level(), *last).empty()) group.bandwidth.erase(*last);
  };
  if (io_alloc_) take_away(*io_alloc_);
  for (auto& [name, group] : groups_) {
    group.cpus.erase(cpu);
    take_away(group);
  }
}

void Resctrl::cpu_came_online(int cpu) {
  root().cpus.insert(cpu);
  // A domain that comes back starts from its defaults in every group, whatever was set before.
  const auto give_back = [this, cpu](Group& group) {
    for (auto& [number, masks] : group.masks) {
      const CacheLevel& level = *std::ranges::find(machine_.levels(), number, &CacheLevel::number);
      const auto cache = level.cache_of(cpu);
      if (!cache) continue;
      masks.ways.emplace(*cache, level.full_mask());
      if (level.cdp) masks.code.emplace(*cache, level.full_mask());
    }
    const auto last = machine_.last_level().cache_of(cpu);
    if (machine_.shape().mb && last && !group.region) group.bandwidth.emplace(*last, machine_.bandwidth().highest);
  };
  if (io_alloc_) give_back(*io_alloc_);
  for (auto& [name, group] : groups_) give_back(group);
}

}  // namespace nrd::simnode
