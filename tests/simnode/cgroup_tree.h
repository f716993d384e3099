// Files of /sys/fs/cgroup.
#pragma once

#include "cgroups.h"
#include "tree.h"

namespace nrd::simnode {

class CgroupTree : public Tree {
 public:
  CgroupTree(const Machine& machine, Cgroups& cgroups) : machine_(machine), cgroups_(cgroups) {}

  std::optional<mode_t> mode(const std::string& path) override;
  std::vector<std::string> list(const std::string& folder) override;
  int read(const std::string& path, std::string& content) override;
  int write(const std::string& path, std::string_view text, pid_t writer) override;
  int make_folder(const std::string& path, pid_t writer) override;
  int remove_folder(const std::string& path, pid_t writer) override;

 private:
  const Machine& machine_;
  Cgroups& cgroups_;
};

}  // namespace nrd::simnode
