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

bool Monitoring::has_groups_below(const std::string& parent) {
  return std::ranges::any_of(groups(), [&parent](const auto& entry) { return is_below(entry.first, parent); });
}

size_t Monitoring::rmids_used() const {
  const auto classes =
      std::ranges::count_if(resctrl_.groups(), [](const auto& entry) { return !entry.second.is_lock(); });
  const auto below = std::ranges::count_if(
      groups_, [this](const auto& entry) { return resctrl_.group(class_above(entry.first)) != nullptr; });
  return static_cast<size_t>(classes + below);
}

void Monitoring::free_rmids(size_t used_before) {
  const auto limbo = std::chrono::milliseconds(machine_.shape().limbo_ms);
  if (limbo.count() == 0) return;
  for (size_t used = rmids_used(); used < used_before; ++used) {
    limbo_.push_back(std::chrono::steady_clock::now() + limbo);
  }
}

int Monitoring::lack_of_rmids() {
  if (!machine_.shape().monitoring) return 0;
  std::erase_if(limbo_, [now = std::chrono::steady_clock::now()](auto until) { return until <= now; });
  if (rmids_used() + limbo_.size() < static_cast<size_t>(machine_.shape().rmids)) return 0;
  return limbo_.empty() ? ENOSPC : EBUSY;
}

int Monitoring::make_group(const std::string& name) {
  settle();
  resctrl_.begin_act();
  if (groups_.contains(name)) return EEXIST;
  if (resctrl_.group(class_above(name)) == nullptr) return ENOENT;
  if (resctrl_.group(class_above(name))->is_lock()) return resctrl_.refuse(EINVAL, "Pseudo-locking in progress\n");
  if (const int error = lack_of_rmids()) return resctrl_.refuse(error, "Out of RMIDs\n");
  groups_[name];
  begin(name);
  return 0;
}

int Monitoring::remove_group(const std::string& name) {
  settle();
  const size_t before = rmids_used();
  if (groups_.erase(name) != 1) return ENOENT;
  free_rmids(before);
  return 0;
}

int Monitoring::write_cpus(const std::string& name, std::string_view text, CpuForm form) {
  settle();
  resctrl_.begin_act();
  Cpus wanted;
  if (const int error = resctrl_.parse_cpus(text, form, wanted)) return resctrl_.refuse(error, "Bad CPU list/mask\n");
  if (!std::ranges::includes(machine_.online(), wanted))
    return resctrl_.refuse(EINVAL, "Can only assign online CPUs\n");
  if (!std::ranges::includes(resctrl_.group(class_above(name))->cpus, wanted))
    return resctrl_.refuse(EINVAL, "Can only add CPUs to mongroup that belong to parent\n");
  for (auto& [other, group] : groups_) {
    if (!is_below(other, class_above(name))) continue;
    std::erase_if(group.cpus, [&wanted](int cpu) { return wanted.contains(cpu); });
  }
  groups_.at(name).cpus = wanted;
  return 0;
}

void Monitoring::class_got_cpus(const std::string& name) {
  for (auto& [other, group] : groups_) {
    if (is_below(other, name)) group.cpus.clear();
  }
}

int Monitoring::write_tasks(const std::string& name, std::string_view text, pid_t writer) {
  settle();
  const bool takes_lists = machine_.shape().kernel >= Kernel{6, 7};
  const auto number = parse_number(trimmed(text));
  if (!takes_lists && (!number || *number < 0)) return EINVAL;
  resctrl_.clear_status();
  if (!number) return resctrl_.refuse(EINVAL, "Task list parsing error pid " + std::string(trimmed(text)) + "\n");
  if (*number < 0) return resctrl_.refuse(EINVAL, "Invalid pid " + std::to_string(*number) + "\n");
  const pid_t task = *number == 0 ? writer : static_cast<pid_t>(*number);
  const auto started = start_time(task);
  const bool is_parents = started && resctrl_.tasks_of(class_above(name)).contains(task);
  if (is_parents) {
    for (auto& [other, group] : groups_) group.tasks.erase(task);
    groups_.at(name).tasks[task] = {*started, ticks_now()};
    return 0;
  }
  const std::string id = std::to_string(*number);
  const int error = started ? resctrl_.refuse(EINVAL, "Can't move task to different control group\n")
                            : resctrl_.refuse(ESRCH, "No task " + id + "\n");
  return takes_lists ? resctrl_.refuse(error, "Error while processing task " + id + "\n") : error;
}

std::string Monitoring::show(const std::string& name, int cache, const std::string& counter) {
  settle();
  const auto assignments = assigned_.find(name);
  const bool is_assigned = assignments != assigned_.end() && assignments->second.contains({counter, cache});
  if (machine_.shape().mbm_counters > 0 && counter != "llc_occupancy" && !is_assigned) return "Unassigned\n";
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
  if (!has(name) || !machine_.counted().contains(cache) || !is_counted || !machine_.shape().monitoring) return false;
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

void Monitoring::begin(const std::string& name) {
  const auto is_its = [&name](const auto& entry) { return entry.first == name || is_below(entry.first, name); };
  std::erase_if(counters_, is_its);
  std::erase_if(assigned_, is_its);
  std::erase_if(groups_, [&name](const auto& entry) { return is_below(entry.first, name); });
  // mbm_assign_on_mkdir is 1, and a group for which none is left has none.
  for (const std::string& counter : assignable()) {
    for (const int domain : machine_.counted()) assign(name, counter, domain);
  }
}

void Monitoring::wipe() {
  groups_.clear();
  counters_.clear();
  assigned_.clear();
  limbo_.clear();
  begin("");
}

std::vector<std::string> Monitoring::assignable() const {
  if (machine_.shape().mbm_counters == 0) return {};
  std::vector<std::string> counters = machine_.shape().mon_features;
  std::erase(counters, "llc_occupancy");
  return counters;
}

int Monitoring::available(int domain) const {
  int left = machine_.shape().mbm_counters;
  for (const auto& [name, assigned] : assigned_) {
    const bool is_there = groups_.contains(name) || resctrl_.group(name) != nullptr;
    if (!is_there) continue;
    left -= static_cast<int>(std::ranges::count(assigned, domain, [](const auto& entry) { return entry.second; }));
  }
  return left;
}

bool Monitoring::assign(const std::string& name, const std::string& counter, int domain) {
  if (assigned_[name].contains({counter, domain})) return true;
  if (available(domain) == 0) return false;
  assigned_[name].emplace(counter, domain);
  return true;
}

std::string Monitoring::show_available() const {
  std::string text;
  for (const int domain : machine_.counted())
    text += (text.empty() ? "" : ";") + std::to_string(domain) + "=" + std::to_string(available(domain));
  return text + "\n";
}

std::string Monitoring::show_assignments(const std::string& name) const {
  const auto found = assigned_.find(name);
  std::string text;
  for (const std::string& counter : assignable()) {
    std::string domains;
    for (const int domain : machine_.counted()) {
      const bool is_assigned = found != assigned_.end() && found->second.contains({counter, domain});
      domains += (domains.empty() ? "" : ";") + std::to_string(domain) + "=" + (is_assigned ? "e" : "_");
    }
    text += counter + ":" + domains + "\n";
  }
  return text;
}

// "mbm_total_bytes:0=e;1=_", a domain * stands for all.
int Monitoring::write_assignments(const std::string& name, std::string_view text) {
  if (text.empty() || text.back() != '\n') return EINVAL;
  text.remove_suffix(1);
  resctrl_.clear_status();
  std::optional<std::string_view> lines = text;
  while (const auto line = cut(lines, '\n')) {
    std::optional<std::string_view> rest = *line;
    const std::string counter(*cut(rest, ':'));
    if (const auto known = assignable(); std::ranges::find(known, counter) == known.end() || !rest)
      return resctrl_.refuse(EINVAL, "Unknown event\n");
    while (const auto item = cut(rest, ';')) {
      std::optional<std::string_view> state = *item;
      const std::string_view domain = *cut(state, '=');
      const auto number = parse_number(domain);
      const std::set<int> all = machine_.counted();
      const bool is_known = domain == "*" || (number && all.contains(static_cast<int>(*number)));
      if (!is_known || !state || (*state != "e" && *state != "_")) return EINVAL;
      for (const int each : domain == "*" ? all : std::set{static_cast<int>(*number)}) {
        if (*state == "_") {
          assigned_[name].erase({counter, each});
        } else if (!assign(name, counter, each)) {
          return resctrl_.refuse(
              ENOSPC, "Failed to allocate counter for " + counter + " in domain " + std::to_string(each) + "\n");
        }
      }
    }
  }
  return 0;
}

}  // namespace nrd::simnode
