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

bool Monitoring::is_counted(const std::string& name, int domain, const std::string& counter) const {
  if (!assigns_ || counter == "llc_occupancy") return true;
  const auto found = assigned_.find(name);
  return found != assigned_.end() && found->second.contains({counter, domain});
}

std::string Monitoring::show(const std::string& name, int cache, const std::string& counter) {
  settle();
  std::uint64_t sum = 0;
  bool is_any = is_counted(name, cache, counter);
  for (const auto& [group, assigned] : groups_) {
    is_any = is_any || (is_below(group, name) && is_counted(group, cache, counter));
  }
  if (!is_any) return "Unassigned\n";
  for (const auto& [group, counters] : counters_) {
    if (group != name && !(is_below(group, name) && groups_.contains(group))) continue;
    const auto found = counters.find({cache, counter});
    if (found == counters.end() || !is_counted(group, cache, counter)) continue;
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
  // A group for which no counter is left is made all the same; last_cmd_status says that it has none.
  if (!assigns_ || !assigns_on_mkdir_) return;
  for (const std::string& counter : assignable()) assign(name, counter, machine_.counted());
}

void Monitoring::wipe() {
  groups_.clear();
  counters_.clear();
  assigned_.clear();
  limbo_.clear();
  assigns_ = machine_.shape().mbm_counters > 0;
  assigns_on_mkdir_ = true;
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

// Up to the first domain that has none left. What was counted before is forgotten.
int Monitoring::assign(const std::string& name, const std::string& counter, const std::set<int>& domains) {
  for (const int domain : domains) {
    if (assigned_[name].contains({counter, domain})) continue;
    if (available(domain) == 0) {
      return resctrl_.refuse(
          ENOSPC, "Failed to allocate counter for " + counter + " in domain " + std::to_string(domain) + "\n");
    }
    assigned_[name].emplace(counter, domain);
    counters_[name].erase({domain, counter});
  }
  return 0;
}

int Monitoring::check_assigns() {
  return assigns_ ? 0 : resctrl_.refuse(EINVAL, "mbm_event counter assignment mode is not enabled\n");
}

std::string Monitoring::show_assign_mode() const {
  return assigns_ ? "[mbm_event]\ndefault\n" : "mbm_event\n[default]\n";
}

int Monitoring::show_available(std::string& text) {
  resctrl_.clear_status();
  if (const int error = check_assigns()) return error;
  text.clear();
  for (const int domain : machine_.counted())
    text += (text.empty() ? "" : ";") + std::to_string(domain) + "=" + std::to_string(available(domain));
  text += "\n";
  return 0;
}

int Monitoring::show_assignments(const std::string& name, std::string& text) {
  resctrl_.clear_status();
  if (const int error = check_assigns()) return error;
  text.clear();
  for (const std::string& counter : assignable()) {
    std::string domains;
    for (const int domain : machine_.counted()) {
      domains +=
          (domains.empty() ? "" : ";") + std::to_string(domain) + "=" + (is_counted(name, domain, counter) ? "e" : "_");
    }
    text += counter + ":" + domains + "\n";
  }
  return 0;
}

// The other mode begins without any counter assigned, and assigns to new groups.
int Monitoring::write_assign_mode(std::string_view text) {
  resctrl_.clear_status();
  if (text != "mbm_event\n" && text != "default\n")
    return text.ends_with('\n') ? resctrl_.refuse(EINVAL, "Unsupported assign mode\n") : EINVAL;
  const bool assigns = text == "mbm_event\n";
  if (assigns == assigns_) return 0;
  assigns_ = assigns;
  if (assigns) assigns_on_mkdir_ = true;
  assigned_.clear();
  counters_.clear();
  return 0;
}

int Monitoring::write_assign_on_mkdir(std::string_view text) {
  const auto number = parse_number(trimmed(text));
  if (!number || *number < 0 || *number > 1) return EINVAL;
  resctrl_.clear_status();
  if (const int error = check_assigns()) return error;
  assigns_on_mkdir_ = *number == 1;
  return 0;
}

// One line: "mbm_total_bytes:0=e;1=_", a domain * stands for all.
int Monitoring::modify(const std::string& name, const std::string& counter, std::string_view domains) {
  const std::set<int> all = machine_.counted();
  std::optional<std::string_view> rest = domains;
  while (const auto item = cut(rest, ';')) {
    if (item->empty()) return 0;
    std::optional<std::string_view> state = *item;
    const std::string domain(*cut(state, '='));
    const auto number = parse_number(domain);
    if (domain != "*" && !number) return resctrl_.refuse(EINVAL, "Missing domain id\n");
    if (domain != "*" && !all.contains(static_cast<int>(*number)))
      return resctrl_.refuse(EINVAL, "Invalid domain id " + domain + "\n");
    const std::set<int> meant = domain == "*" ? all : std::set{static_cast<int>(*number)};
    int error = state == "e" || state == "_" ? 0 : EINVAL;
    if (state == "e") error = assign(name, counter, meant);
    if (state == "_")
      std::erase_if(assigned_[name],
                    [&](const auto& entry) { return entry.first == counter && meant.contains(entry.second); });
    if (error != 0) {
      const std::string what = counter + ":" + domain + "=" + std::string(state.value_or(""));
      return resctrl_.refuse(error, "Assign operation '" + what + "' failed\n");
    }
  }
  return 0;
}

int Monitoring::write_assignments(const std::string& name, std::string_view text) {
  if (text.empty() || text.back() != '\n') return EINVAL;
  text.remove_suffix(1);
  resctrl_.clear_status();
  if (!assigns_) return resctrl_.refuse(EINVAL, "mbm_event mode is not enabled\n");
  std::optional<std::string_view> lines = text;
  while (const auto line = cut(lines, '\n')) {
    std::optional<std::string_view> domains = *line;
    const std::string counter(*cut(domains, ':'));
    const auto known = assignable();
    if (std::ranges::find(known, counter) == known.end())
      return resctrl_.refuse(ENOENT, "Invalid event " + counter + "\n");
    if (const int error = modify(name, counter, domains.value_or(""))) return error;
  }
  return 0;
}

}  // namespace nrd::simnode
