#include "cgroups.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

#include "cpu_list.h"
#include "tree.h"

namespace nrd::simnode {
namespace {

constexpr std::array kControllers{"cpu", "cpuset", "io", "memory", "pids"};
constexpr const char* kMember = "member";

bool intersect(const Cpus& a, const Cpus& b) {
  return std::ranges::any_of(a, [&b](int cpu) { return b.contains(cpu); });
}

Cpus common(const Cpus& a, const Cpus& b) {
  Cpus both;
  std::ranges::set_intersection(a, b, std::inserter(both, both.end()));
  return both;
}

bool is_child(const std::string& cgroup, const std::string& parent) {
  return !cgroup.empty() && parent_cgroup(cgroup) == parent;
}

}  // namespace

std::string parent_cgroup(const std::string& cgroup) { return split_path(cgroup).folder; }

void Cgroups::wipe() {
  cgroups_.clear();
  cgroups_[""];
}

bool Cgroups::has_children(const std::string& cgroup) const {
  return std::ranges::any_of(cgroups_, [&](const auto& each) { return is_child(each.first, cgroup); });
}

std::set<std::string> Cgroups::controllers(const std::string& cgroup) const {
  if (cgroup.empty()) return {kControllers.begin(), kControllers.end()};
  return cgroups_.at(parent_cgroup(cgroup)).controllers;
}

bool Cgroups::has_controller(const std::string& cgroup, const std::string& controller) const {
  return controllers(cgroup).contains(controller);
}

// As "cpuset.cpus.partition" names the reasons (perr_strings of kernel/cgroup/cpuset.c).
std::string Cgroups::why_invalid(const std::string& cgroup) const {
  if (!parent_cgroup(cgroup).empty()) return "Parent is not a partition root";
  const Cpus& cpus = cgroups_.at(cgroup).cpus;
  if (cpus.empty()) return "cpuset.cpus is empty";
  for (const auto& [name, other] : cgroups_) {
    const bool is_sibling = name != cgroup && is_child(name, "");
    if (is_sibling && intersect(other.cpus, cpus)) return "Cpu list in cpuset.cpus not exclusive";
  }
  return intersect(cpus, machine_.online()) ? "" : "No cpu available due to hotplug";
}

std::string Cgroups::partition(const std::string& cgroup) const {
  const std::string& kind = cgroups_.at(cgroup).partition;
  if (kind == kMember) return kind;
  const std::string why = why_invalid(cgroup);
  return why.empty() ? kind : kind + " invalid (" + why + ")";
}

Cpus Cgroups::effective(const std::string& cgroup) const {
  const auto is_partition = [this](const std::string& name) {
    return !name.empty() && cgroups_.at(name).partition != kMember && why_invalid(name).empty();
  };
  if (cgroup.empty()) {
    Cpus left = machine_.online();
    for (const auto& [name, each] : cgroups_) {
      if (!is_partition(name)) continue;
      for (const int cpu : each.cpus) left.erase(cpu);
    }
    return left;
  }
  const Cpus& own = cgroups_.at(cgroup).cpus;
  if (is_partition(cgroup)) return common(own, machine_.online());
  const Cpus of_parent = effective(parent_cgroup(cgroup));
  const Cpus both = common(own, of_parent);
  return both.empty() ? of_parent : both;
}

Cpus Cgroups::effective_mems(const std::string& cgroup) const {
  Cpus all;
  for (int node = 0; node < machine_.nodes(); ++node) all.insert(node);
  if (cgroup.empty()) return all;
  const Cpus of_parent = effective_mems(parent_cgroup(cgroup));
  const Cpus both = common(cgroups_.at(cgroup).mems, of_parent);
  return both.empty() ? of_parent : both;
}

void Cgroups::adopt_children() {
  std::map<pid_t, std::string> homes;
  for (auto& [name, each] : cgroups_) {
    forget_the_dead(each.processes);
    for (const auto& [process, stay] : each.processes) homes[process] = name;
  }
  std::map<pid_t, std::string> left = homes;
  while (!left.empty()) {
    const auto [process, cgroup] = *left.begin();
    left.erase(left.begin());
    const std::uint64_t since = cgroups_[cgroup].processes.at(process).since;
    for (const pid_t child : children_of(process)) {
      const auto start = start_time(child);
      if (homes.contains(child) || !start || *start < since) continue;
      cgroups_[cgroup].processes[child] = {*start, *start};
      homes[child] = left[child] = cgroup;
    }
  }
}

std::set<pid_t> Cgroups::processes(const std::string& cgroup) {
  adopt_children();
  std::set<pid_t> found;
  if (cgroup.empty()) {
    found = every_process();
    for (const auto& [name, each] : cgroups_) {
      for (const auto& [process, stay] : each.processes) found.erase(process);
    }
    return found;
  }
  for (const auto& [process, stay] : cgroups_.at(cgroup).processes) found.insert(process);
  return found;
}

bool Cgroups::is_populated(const std::string& cgroup) {
  adopt_children();
  return std::ranges::any_of(cgroups_, [&](const auto& each) {
    const bool is_below = each.first == cgroup || each.first.starts_with(cgroup + "/");
    return is_below && !each.second.processes.empty();
  });
}

int Cgroups::make(const std::string& cgroup) {
  if (cgroups_.contains(cgroup)) return EEXIST;
  if (!cgroups_.contains(parent_cgroup(cgroup))) return ENOENT;
  cgroups_[cgroup];
  return 0;
}

int Cgroups::remove(const std::string& cgroup) {
  if (cgroup.empty() || has_children(cgroup) || is_populated(cgroup)) return EBUSY;
  cgroups_.erase(cgroup);
  return 0;
}

int Cgroups::vanish(const std::string& cgroup) {
  if (cgroup.empty() || !cgroups_.contains(cgroup)) return ENOENT;
  std::erase_if(cgroups_, [&](const auto& entry) { return (entry.first + "/").starts_with(cgroup + "/"); });
  return 0;
}

void Cgroups::reset_controller(const std::string& parent, const std::string& controller) {
  for (auto& [name, each] : cgroups_) {
    if (!is_child(name, parent)) continue;
    const Cgroup fresh;
    if (controller == "cpuset") each.cpus = fresh.cpus, each.mems = fresh.mems, each.partition = fresh.partition;
    if (controller == "cpu") each.weight = fresh.weight, each.max = fresh.max;
  }
}

int Cgroups::set_controllers(const std::string& cgroup, std::string_view changes) {
  std::set<std::string> wanted = cgroups_.at(cgroup).controllers;
  std::optional<std::string_view> rest = trimmed(changes);
  while (const auto word = cut(rest, ' ')) {
    const std::string name(word->substr(std::min<size_t>(1, word->size())));
    if (!word->starts_with('+') && !word->starts_with('-')) return EINVAL;
    if (std::ranges::find(kControllers, name) == kControllers.end()) return EINVAL;
    const bool is_used_below = std::ranges::any_of(cgroups_, [&](const auto& each) {
      return is_child(each.first, cgroup) && each.second.controllers.contains(name);
    });
    if (word->front() == '+' && !has_controller(cgroup, name)) return ENOENT;
    if (word->front() == '-' && is_used_below) return EBUSY;
    word->front() == '+' ? void(wanted.insert(name)) : void(wanted.erase(name));
  }
  // No internal processes.
  if (!cgroup.empty() && !wanted.empty() && !processes(cgroup).empty()) return EBUSY;
  for (const std::string& before : cgroups_.at(cgroup).controllers) {
    if (!wanted.contains(before)) reset_controller(cgroup, before);
  }
  cgroups_.at(cgroup).controllers = std::move(wanted);
  return 0;
}

int Cgroups::set_cpus(const std::string& cgroup, std::string_view list) {
  Cpus cpus;
  if (const std::string_view text = trimmed(list); !text.empty()) {
    if (const int error = parse_list(text, machine_.shape().cpus, cpus)) return error;
  }
  if (cpus.empty() && is_populated(cgroup)) return ENOSPC;
  cgroups_.at(cgroup).cpus = std::move(cpus);
  return 0;
}

int Cgroups::set_mems(const std::string& cgroup, std::string_view list) {
  Cpus nodes;
  if (const std::string_view text = trimmed(list); !text.empty()) {
    if (const int error = parse_list(text, machine_.nodes(), nodes)) return error;
  }
  if (nodes.empty() && !cgroups_.at(cgroup).mems.empty() && is_populated(cgroup)) return ENOSPC;
  cgroups_.at(cgroup).mems = std::move(nodes);
  return 0;
}

int Cgroups::set_partition(const std::string& cgroup, std::string_view text) {
  const std::string_view kind = trimmed(text);
  if (kind != kMember && kind != "root" && kind != "isolated") return EINVAL;
  cgroups_.at(cgroup).partition = kind;
  return 0;
}

int Cgroups::set_weight(const std::string& cgroup, std::string_view text) {
  const auto number = parse_number(trimmed(text));
  if (!number) return EINVAL;
  if (*number < 1 || *number > 10'000) return ERANGE;
  cgroups_.at(cgroup).weight = *number;
  return 0;
}

// "QUOTA", "QUOTA PERIOD", QUOTA "max" for none (tg_set_cfs_bandwidth() of kernel/sched/core.c).
int Cgroups::set_max(const std::string& cgroup, std::string_view text) {
  std::optional<std::string_view> rest = trimmed(text);
  const std::string_view quota = *cut(rest, ' ');
  const auto period = rest ? parse_number(*rest) : std::optional(100'000L);
  const auto number = quota == "max" ? std::optional(1'000L) : parse_number(quota);
  if (!period || !number || *number < 1'000 || *period < 1'000 || *period > 1'000'000) return EINVAL;
  cgroups_.at(cgroup).max = std::string(quota) + " " + std::to_string(*period);
  return 0;
}

int Cgroups::move_process(const std::string& cgroup, std::string_view text, pid_t writer) {
  const auto number = parse_number(trimmed(text));
  if (!number) return EINVAL;
  const pid_t process = *number == 0 ? writer : static_cast<pid_t>(*number);
  const auto start = start_time(process);
  if (!start) return ESRCH;
  adopt_children();
  if (!cgroup.empty() && !cgroups_.at(cgroup).controllers.empty()) return EBUSY;
  for (auto& [name, each] : cgroups_) each.processes.erase(process);
  if (!cgroup.empty()) cgroups_.at(cgroup).processes[process] = {*start, ticks_now()};
  for (std::string each = cgroup; !each.empty(); each = parent_cgroup(each)) cgroups_.at(each).usage_us += 1000;
  return 0;
}

}  // namespace nrd::simnode
