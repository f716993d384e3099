// The simulated node whole: its machine, its files, and what a test may do to it from outside. It is itself the tree
// that gets mounted: resctrl/…, cgroup/…, cpu/…, node/…, dev/…, proc/…; mounts.h says where each of them appears.
#pragma once

#include <string>

#include "cgroup_tree.h"
#include "cpufreq_tree.h"
#include "faults.h"
#include "file_map.h"
#include "machine.h"
#include "msr_tree.h"
#include "noise_tree.h"
#include "power_tree.h"
#include "resctrl_tree.h"

namespace nrd::simnode {

class Node : public Tree {
 public:
  explicit Node(const Shape& shape);

  const Machine& machine() const { return machine_; }
  const Resctrl& resctrl() const { return resctrl_; }
  const Cpufreq& cpufreq() const { return cpufreq_; }
  const Msr& msr() const { return msr_; }
  Faults& faults() { return faults_; }
  Monitoring& monitoring() { return resctrl_tree_.monitoring(); }

  void reboot();                         // a new boot id, and all that can be set as fresh as after one
  int vanish(const std::string& group);  // without a request of its user; not counted as a write
  int set_online(int cpu, bool online);  // 0 or errno
  void remount(MbUnit unit, bool cdp);   // resctrl: without groups, and with these options

  bool has_hardware_file(const std::string& name);  // as the log names it: /sys/devices/system/cpu/cpufreq/…

  std::optional<mode_t> mode(const std::string& path) override;
  int open(const std::string& path) override;
  bool has_registers(const std::string& path) override;
  bool tells_types() override { return machine_.shape().d_types; }
  std::vector<std::string> list(const std::string& folder) override;
  int read(const std::string& path, std::string& content) override;
  int write(const std::string& path, std::string_view text, pid_t writer) override;
  int make_folder(const std::string& path, pid_t writer) override;
  int remove_folder(const std::string& path, pid_t writer) override;

 private:
  // A path in a tree of its own, as that tree calls it.
  struct TreePath {
    Tree* tree;
    std::string path;
  };

  void compute_files();
  std::optional<TreePath> hardware(const std::string& path);  // nullopt: it is in files_

  Machine machine_;
  Resctrl resctrl_;
  ResctrlTree resctrl_tree_;
  Cpufreq cpufreq_;
  CpufreqTree cpufreq_tree_;
  Msr msr_;
  MsrTree msr_tree_;
  PowerTree power_tree_;
  NoiseTree noise_tree_;
  Cgroups cgroups_;
  CgroupTree cgroup_tree_;
  Faults faults_;
  FaultyTree resctrl_files_;
  FaultyTree cpufreq_files_;
  FaultyTree msr_files_;
  FaultyTree power_files_;
  FaultyTree noise_files_;
  FaultyTree cgroup_files_;
  std::string filesystems_;
  std::string boot_id_;
  FileMap files_;
};

}  // namespace nrd::simnode
