#include "node.h"

#include <sys/stat.h>

#include <cerrno>

#include "procfs.h"
#include "sysfs.h"

namespace nrd::simnode {
namespace {

// The path below the folder, or nothing when it lies elsewhere.
std::optional<std::string> below(const std::string& folder, const std::string& path) {
  if (path == folder) return "";
  if (!path.starts_with(folder + "/")) return std::nullopt;
  return path.substr(folder.size() + 1);
}

}  // namespace

Node::Node(const Shape& shape)
    : machine_(shape),
      resctrl_(machine_),
      resctrl_tree_(machine_, resctrl_),
      cpufreq_(machine_),
      cpufreq_tree_(cpufreq_),
      msr_(machine_),
      msr_tree_(machine_, msr_),
      power_tree_(machine_),
      noise_tree_(machine_),
      cgroups_(machine_),
      cgroup_tree_(machine_, cgroups_),
      resctrl_files_(resctrl_tree_, faults_, ""),
      cpufreq_files_(cpufreq_tree_, faults_, "/sys/devices/system/cpu/"),
      msr_files_(msr_tree_, faults_, "/dev/cpu/"),
      power_files_(power_tree_, faults_, "/sys/devices/system/cpu/"),
      noise_files_(noise_tree_, faults_, "/"),
      cgroup_files_(cgroup_tree_, faults_, "/sys/fs/cgroup/"),
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
  resctrl_permissions.reset();
  resctrl_.wipe();
  resctrl_tree_.monitoring().wipe();
  cpufreq_.wipe();
  msr_.wipe();
  power_tree_.wipe();
  noise_tree_.wipe();
  cgroups_.wipe();
  boot_id_ = new_boot_id();
  compute_files();
}

int Node::vanish(const std::string& group) {
  const auto cgroup = below("/sys/fs/cgroup", group);
  return cgroup ? cgroups_.vanish(*cgroup) : resctrl_tree_.remove_folder(group, 0);
}

void Node::remount(MbUnit unit, bool cdp) {
  resctrl_permissions.reset();
  machine_.set_mb_unit(unit);
  machine_.set_cdp(cdp);
  resctrl_.wipe();
}

int Node::set_online(int cpu, bool online) {
  if (cpu < 0 || cpu >= machine_.shape().cpus) return ENODEV;
  if (cpu == 0 && !online && !machine_.shape().offline.contains(0)) return EPERM;
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

bool Node::has_hardware_file(const std::string& name) {
  const auto cpu = below("/sys/devices/system/cpu", name);
  const auto msr = below("/dev/cpu", name);
  const auto cgroup = below("/sys/fs/cgroup", name);
  auto mode = cpu ? cpufreq_files_.mode(*cpu) : msr ? msr_files_.mode(*msr) : std::nullopt;
  if (cpu && !mode) mode = power_files_.mode(*cpu);
  if (cgroup) mode = cgroup_files_.mode(*cgroup);
  return mode && S_ISREG(*mode);
}

std::optional<Node::TreePath> Node::hardware(const std::string& path) {
  if (const auto group = below("resctrl", path)) return TreePath{&resctrl_files_, *group};
  if (const auto cgroup = below("cgroup", path)) return TreePath{&cgroup_files_, *cgroup};
  if (const auto msr = below("dev", path)) return TreePath{&msr_files_, *msr};
  const auto cpu = below("cpu", path);
  if (cpu && cpufreq_files_.mode(*cpu)) return TreePath{&cpufreq_files_, *cpu};
  if (cpu && power_files_.mode(*cpu)) return TreePath{&power_files_, *cpu};
  if (noise_files_.mode(path)) return TreePath{&noise_files_, path};
  return std::nullopt;
}

std::optional<mode_t> Node::mode(const std::string& path) {
  if (const auto place = hardware(path)) return place->tree->mode(place->path);
  if (files_.folder(path) != nullptr) return S_IFDIR | 0755;
  const File* file = files_.file(path);
  return file == nullptr ? std::nullopt : std::optional(file->mode);
}

int Node::open(const std::string& path) {
  const auto place = hardware(path);
  return place ? place->tree->open(place->path) : 0;
}

bool Node::has_registers(const std::string& path) {
  const auto place = hardware(path);
  return place && place->tree->has_registers(place->path);
}

std::vector<std::string> Node::list(const std::string& folder) {
  if (const auto place = hardware(folder)) return place->tree->list(place->path);
  const auto* names = files_.folder(folder);
  std::vector<std::string> found;
  if (const auto cpu = below("cpu", folder)) {
    found = cpufreq_files_.list(*cpu);
    const std::vector<std::string> power = power_files_.list(*cpu);
    found.insert(found.end(), power.begin(), power.end());
  }
  if (names != nullptr) found.insert(found.end(), names->begin(), names->end());
  if (folder.empty()) found.insert(found.end(), {"resctrl", "dev", "cgroup"});
  return found;
}

int Node::read(const std::string& path, std::string& content) {
  if (const auto place = hardware(path)) return place->tree->read(place->path, content);
  const File* file = files_.file(path);
  if (file == nullptr) return ENOENT;
  content = file->content;
  return 0;
}

int Node::write(const std::string& path, std::string_view text, pid_t writer) {
  if (const auto place = hardware(path)) return place->tree->write(place->path, text, writer);
  const File* file = files_.file(path);
  if (file == nullptr) return ENOENT;
  // A copy, because a hotplug replaces the files, this one included, while it runs.
  const auto act = file->write;
  return act ? act(text) : EACCES;
}

int Node::make_folder(const std::string& path, pid_t writer) {
  const auto place = hardware(path);
  return place ? place->tree->make_folder(place->path, writer) : EPERM;
}

int Node::remove_folder(const std::string& path, pid_t writer) {
  const auto place = hardware(path);
  return place ? place->tree->remove_folder(place->path, writer) : EPERM;
}

}  // namespace nrd::simnode
