#include "resctrl.h"

#include <algorithm>
#include <bit>
#include <cerrno>

namespace nrd::simnode {
namespace {

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

char usage_letter(bool hardware, bool shared, bool exclusive) {
  if (hardware) return shared ? 'X' : 'H';
  if (shared) return 'S';
  return exclusive ? 'E' : '0';
}

}  // namespace

Resctrl::Resctrl(const Machine& machine) : machine_(machine) { wipe(); }

void Resctrl::wipe() {
  groups_.clear();
  moved_to_root_.clear();
  status_.clear();
  groups_[""] = new_group(0);
  root().cpus = machine_.online();
}

const Group* Resctrl::group(const std::string& name) const {
  const auto found = groups_.find(name);
  return found == groups_.end() ? nullptr : &found->second;
}

int Resctrl::refuse(int error, std::string status) {
  status_ = std::move(status);
  return error;
}

int Resctrl::free_closid() const {
  std::set<int> used;
  for (const auto& [name, group] : groups_) used.insert(group.closid);
  for (int closid = 0; closid < machine_.closids(); ++closid) {
    if (!used.contains(closid)) return closid;
  }
  return -1;
}

Ways Resctrl::taken_on(int level, int cache, const Group& but, bool only_exclusive) const {
  Ways taken = 0;
  for (const auto& [name, group] : groups_) {
    if (group.closid == but.closid || (only_exclusive && !group.exclusive)) continue;
    const Masks& masks = group.masks.at(level);
    taken |= masks.ways.at(cache);
    if (masks.code.contains(cache)) taken |= masks.code.at(cache);
  }
  return taken;
}

Group Resctrl::new_group(int closid) const {
  Group group;
  group.closid = closid;
  for (const CacheLevel& level : machine_.allocated_levels()) {
    Masks& masks = group.masks[level.number];
    for (const int cache : machine_.caches(level)) {
      masks.ways[cache] = lowest_run(level.full_mask() & ~taken_on(level.number, cache, group, true));
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
  status_.clear();
  if (name.find('\n') != std::string::npos) return EINVAL;
  if (groups_.contains(name) || name == "info") return EEXIST;
  const int closid = free_closid();
  if (closid < 0) return refuse(ENOSPC, "Out of CLOSIDs\n");
  Group group = new_group(closid);
  for (const CacheLevel& level : machine_.allocated_levels()) {
    for (const auto& [cache, ways] : group.masks.at(level.number).ways) {
      if (ways == 0) return refuse(ENOSPC, "No space on " + level.name() + ":" + std::to_string(cache) + "\n");
    }
  }
  groups_.emplace(name, std::move(group));
  return 0;
}

int Resctrl::remove_group(const std::string& name) {
  status_.clear();
  if (name.empty()) return EPERM;
  const auto found = groups_.find(name);
  if (found == groups_.end()) return ENOENT;
  root().cpus.insert(found->second.cpus.begin(), found->second.cpus.end());
  groups_.erase(found);
  return 0;
}

bool Resctrl::clashes_with_exclusive(const Group& group, const Settings& wanted) {
  for (const auto& [level, masks] : wanted.masks) {
    std::map<int, Ways> all = masks.ways;
    for (const auto& [cache, ways] : masks.code) all[cache] |= ways;
    for (const auto& [cache, ways] : all) {
      if ((ways & taken_on(level, cache, group, true)) != 0) {
        status_ = "Overlaps with exclusive group\n";
        return true;
      }
      if (group.exclusive && (ways & taken_on(level, cache, group, false)) != 0) {
        status_ = "Overlaps with other group\n";
        return true;
      }
    }
  }
  return false;
}

int Resctrl::write_schemata(const std::string& name, std::string_view text) {
  Group& group = groups_.at(name);
  const Parsed parsed = parse_schemata(text, machine_, group);
  if (!parsed.valid) return refuse(EINVAL, parsed.status);
  status_.clear();
  if (clashes_with_exclusive(group, parsed.settings)) return EINVAL;
  for (const auto& [level, masks] : parsed.settings.masks) {
    for (const auto& [cache, ways] : masks.ways) group.masks.at(level).ways[cache] = ways;
    for (const auto& [cache, ways] : masks.code) group.masks.at(level).code[cache] = ways;
  }
  for (const auto& [cache, value] : parsed.settings.bandwidth) group.bandwidth[cache] = value;
  return 0;
}

int Resctrl::write_cpus(const std::string& name, std::string_view text, CpuForm form) {
  status_.clear();
  const auto wanted = form == CpuForm::List ? parse_list(text) : parse_mask(text);
  const bool beyond = wanted && !wanted->empty() && *wanted->rbegin() >= machine_.shape().cpus;
  if (!wanted || beyond) return refuse(EINVAL, "Bad CPU list/mask\n");
  if (!without(*wanted, machine_.online()).empty()) return refuse(EINVAL, "Can only assign online CPUs\n");
  Group& group = groups_.at(name);
  const Cpus dropped = without(group.cpus, *wanted);
  if (name.empty() && !dropped.empty()) return refuse(EINVAL, "Can't drop CPUs from default group\n");
  root().cpus.insert(dropped.begin(), dropped.end());
  for (auto& [other, elsewhere] : groups_) elsewhere.cpus = without(elsewhere.cpus, *wanted);
  group.cpus = *wanted;
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
        const bool is_elsewhere = std::ranges::any_of(
            groups_, [&heir = heir](const auto& other) { return other.second.tasks.contains(heir); });
        if (!is_elsewhere && !moved_to_root_.contains(heir)) group.tasks[heir] = stay;
      }
      if (group.tasks.size() == before) break;
    }
  }
}

int Resctrl::write_tasks(const std::string& name, std::string_view text, pid_t writer) {
  status_.clear();
  Group& group = groups_.at(name);
  std::optional<std::string_view> rest = trimmed(text);
  while (rest && !rest->empty()) {
    const std::string_view word = trimmed(*cut(rest, ','));
    const auto number = parse_number(word);
    if (!number) return refuse(EINVAL, "Task list parsing error pid " + std::string(word) + "\n");
    if (*number < 0) return refuse(EINVAL, "Invalid pid " + std::to_string(*number) + "\n");
    const pid_t task = *number == 0 ? writer : static_cast<pid_t>(*number);
    // As in the kernel, tasks before the one that failed have moved.
    if (const int error = move_task(group, task)) return error;
  }
  return 0;
}

bool Resctrl::overlaps(const Group& group) const {
  for (const CacheLevel& level : machine_.allocated_levels()) {
    for (const auto& [cache, ways] : group.masks.at(level.number).ways) {
      if ((ways & (taken_on(level.number, cache, group, false) | level.shareable)) != 0) return true;
    }
  }
  return false;
}

int Resctrl::write_mode(const std::string& name, std::string_view text) {
  status_.clear();
  if (text.empty() || text.back() != '\n') return EINVAL;
  Group& group = groups_.at(name);
  const std::string_view mode = trimmed(text);
  if (mode != "shareable" && mode != "exclusive") return refuse(EINVAL, "Unknown or unsupported mode\n");
  if (mode == "exclusive" && overlaps(group)) return refuse(EINVAL, "Schemata overlaps\n");
  group.exclusive = mode == "exclusive";
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

std::string Resctrl::bit_usage(const CacheLevel& level) const {
  std::string text;
  for (const int cache : machine_.caches(level)) {
    Ways shared = 0;
    Ways exclusive = 0;
    for (const auto& [name, group] : groups_) {
      (group.exclusive ? exclusive : shared) |= group.masks.at(level.number).ways.at(cache);
    }
    text += (text.empty() ? "" : ";") + std::to_string(cache) + "=";
    for (int bit = level.ways - 1; bit >= 0; --bit) {
      const Ways way = Ways{1} << bit;
      text += usage_letter(level.shareable & way, shared & way, exclusive & way);
    }
  }
  return text + "\n";
}

void Resctrl::cpu_went_offline(int cpu) {
  const auto is_gone = [this, cpu](const CacheLevel& level) {
    return machine_.cache_cpus(level, level.cache_of(cpu)).empty();
  };
  const CacheLevel& last = machine_.last_level();
  for (auto& [name, group] : groups_) {
    group.cpus.erase(cpu);
    for (const CacheLevel& level : machine_.allocated_levels()) {
      if (!is_gone(level)) continue;
      group.masks.at(level.number).ways.erase(level.cache_of(cpu));
      group.masks.at(level.number).code.erase(level.cache_of(cpu));
    }
    if (is_gone(last)) group.bandwidth.erase(last.cache_of(cpu));
  }
}

void Resctrl::cpu_came_online(int cpu) {
  root().cpus.insert(cpu);
  // A domain that comes back starts from its defaults in every group, whatever was set before.
  for (auto& [name, group] : groups_) {
    for (const CacheLevel& level : machine_.allocated_levels()) {
      Masks& masks = group.masks.at(level.number);
      masks.ways.emplace(level.cache_of(cpu), level.full_mask());
      if (level.cdp) masks.code.emplace(level.cache_of(cpu), level.full_mask());
    }
    if (machine_.shape().mb) {
      group.bandwidth.emplace(machine_.last_level().cache_of(cpu), machine_.bandwidth().highest);
    }
  }
}

}  // namespace nrd::simnode
