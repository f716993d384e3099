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
constexpr std::array kCacheFiles = {"bit_usage",   "cbm_mask",       "min_cbm_bits",
                                    "num_closids", "shareable_bits", "sparse_masks"};
constexpr std::array kMbFiles = {"bandwidth_gran", "delay_linear", "min_bandwidth", "num_closids"};

struct Place {
  std::string group, file;
};

Place place_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

bool is_group_file(const std::string& name) {
  return std::find(kGroupFiles.begin(), kGroupFiles.end(), name) != kGroupFiles.end();
}

std::string line(long value) { return std::to_string(value) + "\n"; }

std::string hex_line(unsigned long value) {
  char text[32];
  std::snprintf(text, sizeof text, "%lx\n", value);
  return text;
}

std::string lines(const std::set<pid_t>& tasks) {
  std::string text;
  for (const pid_t task : tasks) text += line(task);
  return text;
}

template <typename Names>
std::vector<std::string> strings(const Names& names) {
  return {names.begin(), names.end()};
}

}  // namespace

std::optional<MaskKind> ResctrlTree::mask_kind(const std::string& folder) const {
  for (const MaskKind& kind : mask_kinds(machine_)) {
    if (folder == "info/" + kind.name) return kind;
  }
  return std::nullopt;
}

std::optional<std::string> ResctrlTree::info(const std::string& path) const {
  const Shape& shape = machine_.shape();
  if (path == "info/last_cmd_status") return resctrl_.last_status();
  const Place place = place_of(path);
  if (const auto kind = mask_kind(place.group)) {
    if (place.file == "num_closids") return line(shape.closids);
    if (place.file == "cbm_mask") return hex_line(kind->level->full_mask());
    if (place.file == "min_cbm_bits") return line(shape.min_cbm_bits);
    if (place.file == "shareable_bits") return hex_line(kind->level->shareable);
    if (place.file == "sparse_masks") return line(0);
    if (place.file == "bit_usage") return resctrl_.bit_usage(*kind->level);
  }
  if (!shape.mb) return std::nullopt;
  if (path == "info/MB/num_closids") return line(shape.mb_closids);
  if (path == "info/MB/bandwidth_gran") return line(machine_.bandwidth().step);
  if (path == "info/MB/delay_linear") return line(machine_.bandwidth().linear ? 1 : 0);
  if (path == "info/MB/min_bandwidth") return line(machine_.bandwidth().lowest);
  return std::nullopt;
}

std::vector<std::string> ResctrlTree::list_info(const std::string& folder) const {
  if (folder == "info") {
    std::vector<std::string> names = {"last_cmd_status"};
    for (const MaskKind& kind : mask_kinds(machine_)) names.push_back(kind.name);
    if (machine_.shape().mb) names.push_back("MB");
    if (machine_.shape().monitoring) names.push_back("L3_MON");
    return names;
  }
  if (mask_kind(folder)) return strings(kCacheFiles);
  if (folder == "info/MB" && machine_.shape().mb) return strings(kMbFiles);
  return {};
}

std::optional<std::string> ResctrlTree::group_file(const std::string& name, const std::string& file) const {
  const Group* group = resctrl_.group(name);
  if (group == nullptr) return std::nullopt;
  if (file == "schemata") return show_schemata(machine_, *group);
  if (file == "size") return show_sizes(machine_, *group);
  if (file == "mode") return group->exclusive ? "exclusive\n" : "shareable\n";
  if (file == "cpus") return mask_of(group->cpus, machine_.shape().cpus) + "\n";
  if (file == "cpus_list") return list_of(group->cpus) + "\n";
  if (file == "tasks") return lines(resctrl_.tasks_of(name));
  return std::nullopt;
}

std::optional<mode_t> ResctrlTree::mode(const std::string& path) {
  if (monitor_.owns(path)) return monitor_.mode(path);
  if (resctrl_.group(path) != nullptr || !list_info(path).empty()) return S_IFDIR | 0755;
  if (info(path)) return S_IFREG | 0444;
  const Place place = place_of(path);
  if (resctrl_.group(place.group) == nullptr || !is_group_file(place.file)) return std::nullopt;
  return S_IFREG | (place.file == "size" ? 0444 : 0644);
}

std::vector<std::string> ResctrlTree::list(const std::string& folder) {
  if (monitor_.owns(folder)) return monitor_.list(folder);
  if (resctrl_.group(folder) == nullptr) return list_info(folder);
  std::vector<std::string> names = strings(kGroupFiles);
  if (machine_.shape().monitoring) names.insert(names.end(), {"mon_data", "mon_groups"});
  if (!folder.empty()) return names;
  names.push_back("info");
  for (const auto& [name, group] : resctrl_.groups()) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

int ResctrlTree::read(const std::string& path, std::string& content) {
  if (monitor_.owns(path)) return monitor_.read(path, content);
  const Place place = place_of(path);
  const auto found = path.starts_with("info/") ? info(path) : group_file(place.group, place.file);
  if (!found) return ENOENT;
  content = *found;
  return 0;
}

int ResctrlTree::write(const std::string& path, std::string_view text, pid_t writer) {
  if (text.size() > kLongestWrite) return E2BIG;
  if (monitor_.owns(path)) return monitor_.write(path, text, writer);
  const Place place = place_of(path);
  if (resctrl_.group(place.group) == nullptr) return ENOENT;
  if (place.file == "schemata") return resctrl_.write_schemata(place.group, text);
  if (place.file == "cpus") return resctrl_.write_cpus(place.group, text, CpuForm::Mask);
  if (place.file == "cpus_list") return resctrl_.write_cpus(place.group, text, CpuForm::List);
  if (place.file == "tasks") return resctrl_.write_tasks(place.group, text, writer);
  if (place.file == "mode") return resctrl_.write_mode(place.group, text);
  return EACCES;
}

int ResctrlTree::make_folder(const std::string& path, pid_t writer) {
  if (monitor_.owns(path)) return monitor_.make_folder(path, writer);
  if (path.find('/') != std::string::npos) return EPERM;
  if (machine_.shape().monitoring && !resctrl_.group(path) && !monitoring().has_rmid()) {
    resctrl_.note("Out of RMIDs\n");
    return ENOSPC;
  }
  const int error = resctrl_.make_group(path);
  if (error == 0) monitoring().forget(path);  // of one that had this name
  return error;
}

int ResctrlTree::remove_folder(const std::string& path, pid_t writer) {
  if (monitor_.owns(path)) return monitor_.remove_folder(path, writer);
  if (resctrl_.group(path) == nullptr) return mode(path) ? EPERM : ENOENT;
  return resctrl_.remove_group(path);
}

}  // namespace nrd::simnode
