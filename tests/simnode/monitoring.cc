#include "monitoring.h"

#include <algorithm>
#include <cerrno>

namespace nrd::simnode {
namespace {

constexpr std::string_view kFolder = "mon_groups/";

bool is_below(const std::string& name, const std::string& parent) {
  return class_above(name) == parent && name.find(kFolder) != std::string::npos;
}

}  // namespace

std::string class_above(const std::string& name) {
  const size_t at = name.find(kFolder);
  return at == std::string::npos || at == 0 ? "" : name.substr(0, at - 1);
}

void Monitoring::settle() {
  std::erase_if(groups_, [this](const auto& entry) { return resctrl_.group(class_above(entry.first)) == nullptr; });
  for (auto& [name, group] : groups_) {
    const simnode::Group& parent = *resctrl_.group(class_above(name));
    std::erase_if(group.cpus, [&parent](int cpu) { return !parent.cpus.contains(cpu); });
    forget_the_dead(group.tasks);
    const std::set<pid_t> tasks = resctrl_.tasks_of(class_above(name));
    std::erase_if(group.tasks, [&tasks](const auto& task) { return !tasks.contains(task.first); });
  }
}

const std::map<std::string, Monitoring::Group>& Monitoring::groups() {
  settle();
  return groups_;
}

const Monitoring::Group* Monitoring::group(const std::string& name) {
  if (name.find(kFolder) == std::string::npos) return nullptr;
  settle();
  const auto found = groups_.find(name);
  return found == groups_.end() ? nullptr : &found->second;
}

bool Monitoring::has_rmid() const {
  return resctrl_.groups().size() + groups_.size() < static_cast<size_t>(machine_.shape().rmids);
}

int Monitoring::make_group(const std::string& name) {
  settle();
  resctrl_.note("");
  if (groups_.contains(name)) return EEXIST;
  if (resctrl_.group(class_above(name)) == nullptr) return ENOENT;
  if (!has_rmid()) {
    resctrl_.note("Out of RMIDs\n");
    return ENOSPC;
  }
  groups_[name];
  counters_.erase(name);
  return 0;
}

int Monitoring::remove_group(const std::string& name) {
  settle();
  resctrl_.note("");
  return groups_.erase(name) == 1 ? 0 : ENOENT;
}

int Monitoring::write_cpus(const std::string& name, std::string_view text, CpuForm form) {
  settle();
  resctrl_.note("");
  const auto wanted = form == CpuForm::List ? parse_list(text) : parse_mask(text);
  if (!wanted) {
    resctrl_.note("Bad CPU list/mask\n");
    return EINVAL;
  }
  const Cpus& parents = resctrl_.group(class_above(name))->cpus;
  if (!std::ranges::includes(parents, *wanted)) {
    resctrl_.note("Can only add CPUs to mongroup that belong to parent\n");
    return EINVAL;
  }
  for (auto& [other, group] : groups_) {
    if (!is_below(other, class_above(name))) continue;
    std::erase_if(group.cpus, [&wanted](int cpu) { return wanted->contains(cpu); });
  }
  groups_.at(name).cpus = *wanted;
  return 0;
}

int Monitoring::write_tasks(const std::string& name, std::string_view text, pid_t writer) {
  settle();
  resctrl_.note("");
  const auto number = parse_number(trimmed(text));
  if (!number || *number < 0) return EINVAL;
  const pid_t task = *number == 0 ? writer : static_cast<pid_t>(*number);
  const auto started = start_time(task);
  if (!started) return ESRCH;
  if (!resctrl_.tasks_of(class_above(name)).contains(task)) {
    resctrl_.note("Can't move task to different control group\n");
    return EINVAL;
  }
  for (auto& [other, group] : groups_) group.tasks.erase(task);
  groups_.at(name).tasks[task] = {*started, ticks_now()};
  return 0;
}

std::string Monitoring::show(const std::string& name, int cache, const std::string& counter) {
  settle();
  std::uint64_t sum = 0;
  for (const auto& [group, counters] : counters_) {
    if (group != name && !(is_below(group, name) && groups_.contains(group))) continue;
    const auto found = counters.find({cache, counter});
    if (found == counters.end()) continue;
    if (!found->second.word.empty()) return found->second.word + "\n";
    sum += found->second.value;
  }
  return std::to_string(sum) + "\n";
}

bool Monitoring::move(const std::string& name, int cache, const std::string& counter, const std::string& to) {
  const auto& features = machine_.shape().mon_features;
  const bool is_counted = std::ranges::find(features, counter) != features.end();
  if (!has(name) || !machine_.caches(machine_.last_level()).contains(cache) || !is_counted ||
      !machine_.shape().monitoring)
    return false;
  Counter& moved = counters_[name][{cache, counter}];
  if (to == "Unavailable" || to == "Error") {
    moved.word = to;
    return true;
  }
  const bool adds = to.starts_with("+");
  const auto number = parse_number(std::string_view(to).substr(adds ? 1 : 0));
  if (!number || *number < 0) return false;
  moved.word.clear();
  moved.value = static_cast<std::uint64_t>(*number) + (adds ? moved.value : 0);
  return true;
}

void Monitoring::forget(const std::string& name) {
  std::erase_if(counters_, [&name](const auto& entry) { return entry.first == name || is_below(entry.first, name); });
  std::erase_if(groups_, [&name](const auto& entry) { return is_below(entry.first, name); });
}

void Monitoring::wipe() {
  groups_.clear();
  counters_.clear();
}

}  // namespace nrd::simnode
