#include "cgroup_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "cpu_list.h"

namespace nrd::simnode {
namespace {

constexpr const char* kMemory = "134217728\n";  // of each cgroup with processes: 128 MiB

enum class Where { Root, Below, Everywhere };

struct FileKind {
  std::string_view name;
  const char* controller;  // without which it is absent; "": always there
  Where where;
  mode_t mode;
};

constexpr std::array kCgroupFiles{
    FileKind{"cgroup.controllers", "", Where::Everywhere, 0444},
    FileKind{"cgroup.subtree_control", "", Where::Everywhere, 0644},
    FileKind{"cgroup.procs", "", Where::Everywhere, 0644},
    FileKind{"cgroup.events", "", Where::Below, 0444},
    FileKind{"cpu.stat", "", Where::Below, 0444},
    FileKind{"cpuset.cpus", "cpuset", Where::Below, 0644},
    FileKind{"cpuset.cpus.effective", "cpuset", Where::Everywhere, 0444},
    FileKind{"cpuset.mems", "cpuset", Where::Below, 0644},
    FileKind{"cpuset.mems.effective", "cpuset", Where::Everywhere, 0444},
    FileKind{"memory.current", "memory", Where::Below, 0444},
    FileKind{"cpuset.cpus.partition", "cpuset", Where::Below, 0644},
    FileKind{"cpu.weight", "cpu", Where::Below, 0644},
    FileKind{"cpu.max", "cpu", Where::Below, 0644},
};

bool has_file(const Cgroups& cgroups, const std::string& cgroup, const FileKind& kind) {
  if (kind.where == (cgroup.empty() ? Where::Below : Where::Root)) return false;
  return *kind.controller == '\0' || cgroups.has_controller(cgroup, kind.controller);
}

template <typename Items>
std::string joined(const Items& items, char separator) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : std::string(1, separator)) + std::string(item);
  return text + "\n";
}

}  // namespace

std::optional<mode_t> CgroupTree::mode(const std::string& path) {
  if (!machine_.shape().cgroups) return std::nullopt;
  if (cgroups_.all().contains(path)) return S_IFDIR | 0755;
  const auto& [cgroup, file] = split_path(path);
  if (!cgroups_.all().contains(cgroup)) return std::nullopt;
  const auto kind = std::ranges::find(kCgroupFiles, file, &FileKind::name);
  const bool is_there = kind != kCgroupFiles.end() && has_file(cgroups_, cgroup, *kind);
  return is_there ? std::optional<mode_t>(S_IFREG | kind->mode) : std::nullopt;
}

std::vector<std::string> CgroupTree::list(const std::string& folder) {
  std::vector<std::string> names;
  for (const FileKind& kind : kCgroupFiles) {
    if (has_file(cgroups_, folder, kind)) names.emplace_back(kind.name);
  }
  for (const auto& [cgroup, each] : cgroups_.all()) {
    if (!cgroup.empty() && parent_cgroup(cgroup) == folder) names.push_back(split_path(cgroup).file);
  }
  return names;
}

int CgroupTree::read(const std::string& path, std::string& content) {
  const auto& [cgroup, file] = split_path(path);
  const auto found = cgroups_.all().find(cgroup);
  if (found == cgroups_.all().end()) return ENODEV;
  const Cgroup& state = found->second;
  if (file == "cgroup.controllers") content = joined(cgroups_.controllers(cgroup), ' ');
  if (file == "cgroup.subtree_control") content = joined(state.controllers, ' ');
  if (file == "cgroup.events") content = cgroups_.is_populated(cgroup) ? "populated 1\n" : "populated 0\n";
  if (file == "cgroup.procs") {
    content.clear();
    for (const pid_t process : cgroups_.processes(cgroup)) content += std::to_string(process) + "\n";
  }
  if (file == "cpu.stat") {
    const std::string used = std::to_string(state.usage_us);
    content = "usage_usec " + used + "\nuser_usec " + used + "\nsystem_usec 0\n";
  }
  if (file == "cpuset.cpus") content = list_of(state.cpus) + "\n";
  if (file == "cpuset.cpus.effective") content = list_of(cgroups_.effective(cgroup)) + "\n";
  if (file == "cpuset.mems") content = list_of(state.mems) + "\n";
  if (file == "cpuset.mems.effective") content = list_of(cgroups_.effective_mems(cgroup)) + "\n";
  if (file == "memory.current") content = cgroups_.is_populated(cgroup) ? kMemory : "0\n";
  if (file == "cpuset.cpus.partition") content = cgroups_.partition(cgroup) + "\n";
  if (file == "cpu.weight") content = std::to_string(state.weight) + "\n";
  if (file == "cpu.max") content = state.max + "\n";
  return 0;
}

int CgroupTree::write(const std::string& path, std::string_view text, pid_t writer) {
  const auto& [cgroup, file] = split_path(path);
  if (!cgroups_.all().contains(cgroup)) return ENODEV;
  if (file == "cgroup.subtree_control") return cgroups_.set_controllers(cgroup, text);
  if (file == "cgroup.procs") return cgroups_.move_process(cgroup, text, writer);
  if (file == "cpuset.cpus") return cgroups_.set_cpus(cgroup, text);
  if (file == "cpuset.mems") return cgroups_.set_mems(cgroup, text);
  if (file == "cpuset.cpus.partition") return cgroups_.set_partition(cgroup, text);
  if (file == "cpu.weight") return cgroups_.set_weight(cgroup, text);
  if (file == "cpu.max") return cgroups_.set_max(cgroup, text);
  return EACCES;
}

int CgroupTree::make_folder(const std::string& path, pid_t) { return cgroups_.make(path); }

int CgroupTree::remove_folder(const std::string& path, pid_t) { return cgroups_.remove(path); }

}  // namespace nrd::simnode
