// The files of /sys/fs/resctrl over the rules of resctrl.h: which files there are, what they show, and which rule a
// write to each of them asks for. What has to do with monitoring is in monitor_tree.h.
#pragma once

#include "monitor_tree.h"
#include "resctrl.h"
#include "resctrl_info.h"
#include "tree.h"

namespace nrd::simnode {

class ResctrlTree : public Tree {
 public:
  ResctrlTree(const Machine& machine, Resctrl& resctrl)
      : machine_(machine), resctrl_(resctrl), info_(machine, resctrl), monitor_(machine, resctrl) {}

  Monitoring& monitoring() { return monitor_.monitoring(); }

  std::optional<mode_t> mode(const std::string& path) override;
  std::vector<std::string> list(const std::string& folder) override;
  int read(const std::string& path, std::string& content) override;
  int write(const std::string& path, std::string_view text, pid_t writer) override;
  int make_folder(const std::string& path, pid_t writer) override;
  int remove_folder(const std::string& path, pid_t writer) override;

 private:
  static bool is_info(const std::string& path) { return path == "info" || path.starts_with("info/"); }
  Cpus cpus_of(const Group& group) const;
  int write_cpus(const std::string& group, std::string_view text, CpuForm form);
  int write_mode(const std::string& group, std::string_view text);
  std::optional<std::string> group_file(const std::string& group, const std::string& file) const;

  const Machine& machine_;
  Resctrl& resctrl_;
  ResctrlInfo info_;
  MonitorTree monitor_;
};

}  // namespace nrd::simnode
