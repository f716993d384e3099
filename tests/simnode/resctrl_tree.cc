#include "resctrl_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace nrd::simnode {
namespace {

constexpr size_t kLongestWrite = 4096;  // kernfs takes at most one page in a write
constexpr std::array kGroupFiles = {"cpus", "cpus_list", "mode", "schemata", "size", "tasks"};

bool is_group_file(const std::string& name) {
  return std::find(kGroupFiles.begin(), kGroupFiles.end(), name) != kGroupFiles.end();
}

std::string lines(const std::set<pid_t>& tasks) {
  std::string text;
  for (const pid_t task : tasks) text += std::to_string(task) + "\n";
  return text;
}

}  // namespace

// Those of a locked region are what its cache has.
Cpus ResctrlTree::cpus_of(const Group& group) const {
  if (!group.region) return group.cpus;
  const CacheLevel& level = *std::ranges::find(machine_.levels(), group.region->level, &CacheLevel::number);
  return machine_.cache_cpus(level, group.region->cache);
}

std::optional<std::string> ResctrlTree::group_file(const std::string& name, const std::string& file) const {
  const Group* group = resctrl_.group(name);
  if (group == nullptr) return std::nullopt;
  if (file == "schemata") return show_schemata(machine_, *group);
  if (file == "size") return show_sizes(machine_, *group);
  if (file == "mode") return mode_name(group->mode) + "\n";
  if (file == "cpus") return mask_of(cpus_of(*group), machine_.shape().cpus) + "\n";
  if (file == "cpus_list") return list_of(cpus_of(*group)) + "\n";
  if (file == "tasks") return lines(resctrl_.tasks_of(name));
  return std::nullopt;
}

std::optional<mode_t> ResctrlTree::mode(const std::string& path) {
  if (monitor_.owns(path)) return monitor_.mode(path);
  if (is_info(path)) return info_.mode(path);
  const Group* is_group = resctrl_.group(path);
  if (is_group != nullptr) return S_IFDIR | 0755;
  const FilePath place = split_path(path);
  const Group* group = resctrl_.group(place.folder);
  if (group == nullptr || !is_group_file(place.file)) return std::nullopt;
  // The kernel takes away what a lock must not have (rdtgroup_locksetup_user_restrict()).
  if (group->is_lock() && place.file == "tasks") return S_IFREG;
  if (group->is_lock() && place.file.starts_with("cpus")) return S_IFREG | (group->region ? 0444 : 0);
  return S_IFREG | (place.file == "size" ? 0444 : 0644);
}

std::vector<std::string> ResctrlTree::list(const std::string& folder) {
  if (monitor_.owns(folder)) return monitor_.list(folder);
  if (is_info(folder)) return info_.list(folder);
  if (resctrl_.group(folder) == nullptr) return {};
  std::vector<std::string> names(kGroupFiles.begin(), kGroupFiles.end());
  if (machine_.shape().monitoring) names.insert(names.end(), {"mon_data", "mon_groups"});
  if (machine_.shape().mbm_counters > 0) names.push_back("mbm_L3_assignments");
  if (!folder.empty()) return names;
  names.push_back("info");
  for (const auto& [name, group] : resctrl_.groups()) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

int ResctrlTree::read(const std::string& path, std::string& content) {
  if (monitor_.owns(path)) return monitor_.read(path, content);
  if (is_info(path)) return info_.read(path, content);
  const FilePath place = split_path(path);
  const auto found = group_file(place.folder, place.file);
  if (!found) return ENOENT;
  content = *found;
  return 0;
}

int ResctrlTree::write(const std::string& path, std::string_view text, pid_t writer) {
  if (text.size() > kLongestWrite) return E2BIG;
  if (monitor_.owns(path)) return monitor_.write(path, text, writer);
  if (is_info(path)) return info_.write(path, text);
  const FilePath place = split_path(path);
  if (resctrl_.group(place.folder) == nullptr) return ENOENT;
  if (place.file == "schemata") return resctrl_.write_schemata(place.folder, text);
  if (place.file == "cpus") return write_cpus(place.folder, text, CpuForm::Mask);
  if (place.file == "cpus_list") return write_cpus(place.folder, text, CpuForm::List);
  if (place.file == "tasks") return resctrl_.write_tasks(place.folder, text, writer);
  if (place.file == "mode") return write_mode(place.folder, text);
  return EACCES;
}

int ResctrlTree::write_cpus(const std::string& group, std::string_view text, CpuForm form) {
  const int error = resctrl_.write_cpus(group, text, form);
  if (error == 0) monitoring().class_got_cpus(group);
  return error;
}

// A group that is set up for a lock gives back its RMID.
int ResctrlTree::write_mode(const std::string& group, std::string_view text) {
  const size_t before = monitoring().rmids_used();
  const int error = resctrl_.write_mode(group, text, monitoring().has_groups_below(group));
  monitoring().free_rmids(before);
  return error;
}

int ResctrlTree::make_folder(const std::string& path, pid_t writer) {
  if (monitor_.owns(path)) return monitor_.make_folder(path, writer);
  if (path.find('/') != std::string::npos) return EPERM;
  if (const int error = monitoring().lack_of_rmids()) return resctrl_.refuse(error, "Out of RMIDs\n");
  const int error = resctrl_.make_group(path);
  if (error == 0) monitoring().begin(path);
  return error;
}

int ResctrlTree::remove_folder(const std::string& path, pid_t writer) {
  if (monitor_.owns(path)) return monitor_.remove_folder(path, writer);
  if (resctrl_.group(path) == nullptr) return mode(path) ? EPERM : ENOENT;
  const size_t before = monitoring().rmids_used();
  const int error = resctrl_.remove_group(path);
  monitoring().free_rmids(before);
  return error;
}

}  // namespace nrd::simnode
