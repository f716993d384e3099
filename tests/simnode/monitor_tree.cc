#include "monitor_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace nrd::simnode {
namespace {

constexpr std::array kMonitorFiles = {"cpus", "cpus_list", "mon_data", "tasks"};  // of a group below mon_groups
constexpr std::array kInfo = {"max_threshold_occupancy", "mon_features", "num_rmids"};
constexpr std::array kAssignInfo = {"available_mbm_cntrs", "mbm_assign_mode", "mbm_assign_on_mkdir", "num_mbm_cntrs"};
constexpr const char* kAvailable = "available_mbm_cntrs";
constexpr const char* kAssignments = "mbm_L3_assignments";
constexpr const char* kMonitorInfo = "info/L3_MON";
constexpr const char* kThreshold = "max_threshold_occupancy";

// "COS1/mon_data/mon_L3_00/llc_occupancy" is {"COS1", "mon_data", "mon_L3_00/llc_occupancy"}, of the root's the group
// is "". A group below mon_groups is part of the first.
struct MonitorPlace {
  std::string group;
  std::string folder;  // "mon_data", "mon_groups", or a file of a group below it; empty: the group itself
  std::string rest;
};

// The parts of a path, at most so many; the last one has what is left.
std::vector<std::string> parts_of(const std::string& path, size_t most) {
  std::vector<std::string> parts;
  std::optional<std::string_view> rest = path;
  while (parts.size() + 1 < most) {
    const auto part = cut(rest, '/');
    if (!part) return parts;
    parts.emplace_back(*part);
  }
  if (rest) parts.emplace_back(*rest);
  return parts;
}

MonitorPlace monitor_place(const std::string& path) {
  std::string group;
  std::string rest = path;
  if (!rest.starts_with("mon_") && rest != kAssignments) {
    const auto parts = parts_of(path, 2);
    group = parts.at(0);
    rest = parts.size() > 1 ? parts[1] : "";
  }
  if (rest.starts_with("mon_groups/")) {
    const auto parts = parts_of(rest, 3);
    group += (group.empty() ? "" : "/") + parts[0] + "/" + parts[1];
    rest = parts.size() > 2 ? parts[2] : "";
  }
  const auto parts = parts_of(rest, 2);
  return {group, parts.empty() ? "" : parts[0], parts.size() > 1 ? parts[1] : ""};
}

std::string folder_of(const char* kind, int domain) {
  char name[32];
  std::snprintf(name, sizeof name, "%s%02d", kind, domain);
  return name;
}

// Of info/L3_MON, what can be written.
bool is_setting(const std::string& path) {
  return path.ends_with(kThreshold) || path.ends_with("mbm_assign_mode") || path.ends_with("mbm_assign_on_mkdir");
}

}  // namespace

bool MonitorTree::owns(const std::string& path) const {
  if (!machine_.shape().monitoring) return false;
  if (path == kMonitorInfo || path.starts_with(std::string(kMonitorInfo) + "/")) return true;
  const auto parts = parts_of(path, 3);
  const auto is_ours = [](const std::string& part) {
    return part == "mon_data" || part == "mon_groups" || part == kAssignments;
  };
  return (!parts.empty() && is_ours(parts[0])) || (parts.size() > 1 && is_ours(parts[1]));
}

std::optional<std::string> MonitorTree::info(const std::string& file) const {
  if (machine_.shape().mbm_counters > 0) {
    if (file == "mbm_assign_mode") return monitoring_.show_assign_mode();
    if (file == "mbm_assign_on_mkdir") return monitoring_.show_assign_on_mkdir();
    if (file == kAvailable) return "";  // read() knows
    if (file == "num_mbm_cntrs") return all_counters();
  }
  if (file == "num_rmids") return std::to_string(machine_.shape().rmids) + "\n";
  // As the kernel has it at the start: what each RMID would have of the cache.
  if (file == kThreshold)
    return std::to_string(threshold_.value_or(machine_.last_level().total_bytes / machine_.shape().rmids)) + "\n";
  if (file != "mon_features") return std::nullopt;
  std::string text;
  for (const std::string& feature : machine_.shape().mon_features) text += feature + "\n";
  return text;
}

std::string MonitorTree::all_counters() const {
  std::string text;
  for (const int domain : machine_.counted())
    text += (text.empty() ? "" : ";") + std::to_string(domain) + "=" + std::to_string(machine_.shape().mbm_counters);
  return text + "\n";
}

// "mon_L3_00", and with --snc "mon_L3_00/mon_sub_L3_01", without a counter behind it.
std::map<std::string, std::set<int>> MonitorTree::counted_folders() const {
  std::map<std::string, std::set<int>> folders;
  for (const int cache : machine_.caches(machine_.last_level())) {
    const std::string name = folder_of("mon_L3_", cache);
    folders[name] = machine_.counted_on(cache);
    if (!machine_.shape().snc) continue;
    for (const int node : machine_.counted_on(cache)) folders[name + "/" + folder_of("mon_sub_L3_", node)] = {node};
  }
  return folders;
}

std::string MonitorTree::sum(const std::string& group, const std::set<int>& domains, const std::string& counter) {
  // Of those that can be read, if one can.
  std::optional<unsigned long> total;
  std::string word;
  for (const int domain : domains) {
    const std::string one = monitoring_.show(group, domain, counter);
    const auto number = parse_number(trimmed(one));
    if (number) total = total.value_or(0) + static_cast<unsigned long>(*number);
    if (!number) word = one;
  }
  return total ? std::to_string(*total) + "\n" : word;
}

std::optional<std::string> MonitorTree::content(const std::string& path) {
  if (path.starts_with(kMonitorInfo)) return info(parts_of(path, 3).back());
  const MonitorPlace place = monitor_place(path);
  const Monitoring::Group* group = monitoring_.group(place.group);
  if (place.folder == "mon_data") {
    if (group == nullptr && resctrl_.group(place.group) == nullptr) return std::nullopt;
    for (const auto& [folder, domains] : counted_folders()) {
      for (const std::string& counter : machine_.shape().mon_features) {
        if (place.rest == folder + "/" + counter) return sum(place.group, domains, counter);
      }
    }
    return std::nullopt;
  }
  if (place.folder == kAssignments && place.rest.empty() && machine_.shape().mbm_counters > 0 &&
      (group != nullptr || resctrl_.group(place.group) != nullptr))
    return "";  // read() knows
  if (group == nullptr) return std::nullopt;
  if (place.folder == "cpus") return mask_of(group->cpus, machine_.shape().cpus) + "\n";
  if (place.folder == "cpus_list") return list_of(group->cpus) + "\n";
  if (place.folder != "tasks") return std::nullopt;
  std::string text;
  for (const auto& [task, started] : group->tasks) text += std::to_string(task) + "\n";
  return text;
}

std::vector<std::string> MonitorTree::groups_in(const std::string& parent) {
  const std::string prefix = parent + (parent.empty() ? "" : "/") + "mon_groups/";
  std::vector<std::string> names;
  for (const auto& [name, group] : monitoring_.groups()) {
    if (name.starts_with(prefix)) names.push_back(name.substr(prefix.size()));
  }
  return names;
}

std::vector<std::string> MonitorTree::list(const std::string& path) {
  if (path == kMonitorInfo) {
    std::vector<std::string> names(kInfo.begin(), kInfo.end());
    if (machine_.shape().mbm_counters > 0) names.insert(names.end(), kAssignInfo.begin(), kAssignInfo.end());
    return names;
  }
  const MonitorPlace place = monitor_place(path);
  const bool is_class = resctrl_.group(place.group) != nullptr;
  const bool is_group = monitoring_.group(place.group) != nullptr;
  if (place.folder.empty() && is_group) {
    std::vector<std::string> names(kMonitorFiles.begin(), kMonitorFiles.end());
    if (machine_.shape().mbm_counters > 0) names.push_back(kAssignments);
    return names;
  }
  if (place.folder == "mon_groups" && is_class) return groups_in(place.group);
  if (place.folder != "mon_data" || (!is_class && !is_group)) return {};
  const auto folders = counted_folders();
  std::vector<std::string> names;
  if (folders.contains(place.rest)) names = machine_.shape().mon_features;
  const std::string prefix = place.rest.empty() ? "" : place.rest + "/";
  for (const auto& [folder, domains] : folders) {
    const bool is_in = folder.starts_with(prefix) && folder.find('/', prefix.size()) == std::string::npos;
    if (is_in && folder != place.rest) names.push_back(folder.substr(prefix.size()));
  }
  return names;
}

std::optional<mode_t> MonitorTree::mode(const std::string& path) {
  const bool is_empty_folder = path.ends_with("mon_groups") && resctrl_.group(monitor_place(path).group) != nullptr;
  if (const auto text = content(path)) {
    const bool is_counted = path.starts_with(kMonitorInfo) || monitor_place(path).folder == "mon_data";
    return S_IFREG | (is_counted && !is_setting(path) ? 0444 : 0644);
  }
  const MonitorPlace place = monitor_place(path);
  const std::vector<std::string> names = list(path);
  if (place.folder == "mon_data" && !place.rest.empty() && !counted_folders().contains(place.rest)) return std::nullopt;
  // The root's and info's are the kernel's, those of a group are as it was made.
  const bool is_kernels = path.starts_with(kMonitorInfo) || path.starts_with("mon_data") || path == "mon_groups";
  if (is_empty_folder || !names.empty()) return S_IFDIR | (is_kernels ? 0555 : 0755);
  return std::nullopt;
}

int MonitorTree::read(const std::string& path, std::string& text) {
  const auto found = content(path);
  if (!found) return ENOENT;
  if (path.ends_with(kAvailable)) return monitoring_.show_available(text);
  if (monitor_place(path).folder == kAssignments) return monitoring_.show_assignments(monitor_place(path).group, text);
  text = *found;
  return 0;
}

int MonitorTree::write(const std::string& path, std::string_view text, pid_t writer) {
  const MonitorPlace place = monitor_place(path);
  if (!mode(path)) return ENOENT;
  if (path.ends_with(kThreshold)) {
    const auto bytes = parse_unsigned(text);
    if (!bytes || *bytes > static_cast<unsigned long>(machine_.last_level().total_bytes)) return EINVAL;
    threshold_ = static_cast<long>(*bytes);
    return 0;
  }
  if (path.ends_with("mbm_assign_mode")) return monitoring_.write_assign_mode(text);
  if (path.ends_with("mbm_assign_on_mkdir")) return monitoring_.write_assign_on_mkdir(text);
  if (place.folder == kAssignments) return monitoring_.write_assignments(place.group, text);
  if (monitoring_.group(place.group) == nullptr) return EACCES;
  if (place.folder == "cpus") return monitoring_.write_cpus(place.group, text, CpuForm::Mask);
  if (place.folder == "cpus_list") return monitoring_.write_cpus(place.group, text, CpuForm::List);
  if (place.folder == "tasks") return monitoring_.write_tasks(place.group, text, writer);
  return EACCES;
}

int MonitorTree::make_folder(const std::string& path, pid_t) {
  const MonitorPlace place = monitor_place(path);
  const bool is_group = place.folder.empty() && place.group.find("mon_groups/") != std::string::npos;
  return is_group ? monitoring_.make_group(place.group) : EPERM;
}

int MonitorTree::remove_folder(const std::string& path, pid_t) {
  if (monitoring_.group(path) != nullptr) return monitoring_.remove_group(path);
  return mode(path) ? EPERM : ENOENT;
}

}  // namespace nrd::simnode
