#include "node.h"

#include <sys/stat.h>

#include <cerrno>

#include "procfs.h"
#include "sysfs.h"

namespace nrd::simnode {
namespace {

// The path below resctrl/, or nothing when it lies elsewhere.
std::optional<std::string> below_resctrl(const std::string& path) {
  constexpr std::string_view kFolder = "resctrl";
  if (path == kFolder) return "";
  if (!path.starts_with(std::string(kFolder) + "/")) return std::nullopt;
  return path.substr(kFolder.size() + 1);
}

}  // namespace

Node::Node(const Shape& shape)
    : machine_(shape),
      resctrl_(machine_),
      resctrl_tree_(machine_, resctrl_),
      faults_(resctrl_tree_),
      filesystems_(host_filesystems()),
      boot_id_(new_boot_id()) {
  compute_files();
}

void Node::compute_files() {
  FileMap files;
  add_sysfs(
      machine_, [this](int cpu, bool online) { return set_online(cpu, online); }, files);
  add_procfs(machine_, filesystems_, boot_id_, files);
  files_ = std::move(files);
}

void Node::reboot() {
  resctrl_.wipe();
  boot_id_ = new_boot_id();
  compute_files();
}

int Node::vanish(const std::string& group) { return resctrl_.remove_group(group); }

int Node::set_online(int cpu, bool online) {
  if (cpu < 0 || cpu >= machine_.shape().cpus) return ENODEV;
  if (cpu == 0 && !online) return EPERM;
  if (machine_.is_online(cpu) == online) return 0;
  machine_.set_online(cpu, online);
  if (online) {
    resctrl_.cpu_came_online(cpu);
  } else {
    resctrl_.cpu_went_offline(cpu);
  }
  compute_files();
  return 0;
}

std::optional<mode_t> Node::mode(const std::string& path) {
  if (const auto group = below_resctrl(path)) return faults_.mode(*group);
  if (files_.folder(path) != nullptr) return S_IFDIR | 0755;
  const File* file = files_.file(path);
  return file == nullptr ? std::nullopt : std::optional(file->mode);
}

std::vector<std::string> Node::list(const std::string& folder) {
  if (const auto group = below_resctrl(folder)) return faults_.list(*group);
  const auto* names = files_.folder(folder);
  std::vector<std::string> found;
  if (names != nullptr) found.assign(names->begin(), names->end());
  if (folder.empty()) found.emplace_back("resctrl");
  return found;
}

int Node::read(const std::string& path, std::string& content) {
  if (const auto file = below_resctrl(path)) return faults_.read(*file, content);
  const File* file = files_.file(path);
  if (file == nullptr) return ENOENT;
  content = file->content;
  return 0;
}

int Node::write(const std::string& path, std::string_view text, pid_t writer) {
  if (const auto file = below_resctrl(path)) return faults_.write(*file, text, writer);
  const File* file = files_.file(path);
  if (file == nullptr) return ENOENT;
  // A copy, because a hotplug replaces the files, this one included, while it runs.
  const auto act = file->write;
  return act ? act(text) : EACCES;
}

int Node::make_folder(const std::string& path, pid_t writer) {
  const auto group = below_resctrl(path);
  return group ? faults_.make_folder(*group, writer) : EPERM;
}

int Node::remove_folder(const std::string& path, pid_t writer) {
  const auto group = below_resctrl(path);
  return group ? faults_.remove_folder(*group, writer) : EPERM;
}

}  // namespace nrd::simnode
