#include "resctrl_info.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "tree.h"

namespace nrd::simnode {
namespace {

std::string line(long value) { return std::to_string(value) + "\n"; }

std::string hex_line(unsigned long value) {
  char text[32];
  std::snprintf(text, sizeof text, "%lx\n", value);
  return text;
}

}  // namespace

std::optional<MaskKind> ResctrlInfo::mask_kind(const std::string& folder) const {
  for (const MaskKind& kind : mask_kinds(machine_)) {
    if (folder == "info/" + kind.name) return kind;
  }
  return std::nullopt;
}

std::vector<std::string> ResctrlInfo::cache_files() const {
  std::vector<std::string> names = {"bit_usage", "cbm_mask", "min_cbm_bits", "num_closids", "shareable_bits"};
  if (machine_.shape().kernel >= Kernel{6, 7}) names.push_back("sparse_masks");
  if (machine_.shape().io_alloc != IoAlloc::Absent) names.insert(names.end(), {"io_alloc", "io_alloc_cbm"});
  return names;
}

std::vector<std::string> ResctrlInfo::mb_files() const {
  std::vector<std::string> names = {"bandwidth_gran", "delay_linear", "min_bandwidth", "num_closids"};
  if (machine_.shape().throttle != Throttle::Absent) names.push_back("thread_throttle_mode");
  return names;
}

std::vector<std::string> ResctrlInfo::list(const std::string& folder) const {
  if (mask_kind(folder)) return cache_files();
  if (folder == "info/MB" && machine_.shape().mb) return mb_files();
  if (folder != "info") return {};
  std::vector<std::string> names = {"last_cmd_status"};
  for (const MaskKind& kind : mask_kinds(machine_)) names.push_back(kind.name);
  if (machine_.shape().mb) names.push_back("MB");
  if (machine_.shape().monitoring) names.push_back("L3_MON");
  return names;
}

std::optional<mode_t> ResctrlInfo::mode(const std::string& path) const {
  if (!list(path).empty()) return S_IFDIR | 0555;
  const FilePath place = split_path(path);
  const std::vector<std::string> names = list(place.folder);
  const bool is_there = place.folder != "info" && std::ranges::find(names, place.file) != names.end();
  if (!is_there && path != "info/last_cmd_status") return std::nullopt;
  return S_IFREG | (place.file.starts_with("io_alloc") ? 0644 : 0444);
}

std::string ResctrlInfo::cache_file(const MaskKind& kind, const std::string& file) const {
  if (file == "num_closids") return line(machine_.shape().closids);
  if (file == "cbm_mask") return hex_line(kind.level->full_mask());
  if (file == "min_cbm_bits") return line(machine_.min_cbm_bits());
  if (file == "shareable_bits") return hex_line(kind.level->shareable);
  if (file == "sparse_masks") return line(machine_.is_sparse() ? 1 : 0);
  return resctrl_.bit_usage(kind);
}

std::string ResctrlInfo::mb_file(const std::string& file) const {
  if (file == "num_closids") return line(machine_.shape().mb_closids);
  if (file == "bandwidth_gran") return line(machine_.bandwidth().step);
  if (file == "delay_linear") return line(machine_.bandwidth().linear ? 1 : 0);
  if (file == "min_bandwidth") return line(machine_.bandwidth().lowest);
  return machine_.shape().throttle == Throttle::Max ? "max\n" : "per-thread\n";
}

int ResctrlInfo::read_io_alloc(const MaskKind& kind, const std::string& file, std::string& content) {
  const CacheLevel& level = *kind.level;
  const bool can = level.number == machine_.last_level().number;
  const Group* group = resctrl_.io_alloc();
  if (file == "io_alloc") {
    content = !can ? "not supported\n" : group != nullptr ? "enabled\n" : "disabled\n";
    return 0;
  }
  if (!can) return resctrl_.refuse(ENODEV, "io_alloc is not supported on " + level.name() + "\n");
  if (group == nullptr) return resctrl_.refuse(EINVAL, "io_alloc is not enabled on " + level.name() + "\n");
  content = show_masks(group->masks.at(level.number).*kind.masks) + "\n";
  return 0;
}

int ResctrlInfo::read(const std::string& path, std::string& content) {
  if (!mode(path)) return ENOENT;
  const FilePath place = split_path(path);
  const auto kind = mask_kind(place.folder);
  if (kind && place.file.starts_with("io_alloc")) return read_io_alloc(*kind, place.file, content);
  content = kind                     ? cache_file(*kind, place.file)
            : place.folder == "info" ? resctrl_.last_status()
                                     : mb_file(place.file);
  return 0;
}

int ResctrlInfo::write(const std::string& path, std::string_view text) {
  const FilePath place = split_path(path);
  const auto kind = mask_kind(place.folder);
  if (kind && place.file == "io_alloc") return resctrl_.write_io_alloc(*kind->level, text);
  if (kind && place.file == "io_alloc_cbm") return resctrl_.write_io_alloc_masks(*kind, text);
  return EACCES;
}

}  // namespace nrd::simnode
