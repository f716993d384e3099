// The files that hw/cpuset reads, as plain files in a temporary folder.
#pragma once

#include <string>

#include "tests/support/temporary_tree.h"

namespace nrd::testing {

class Tree : public TemporaryTree {
 public:
  // A cgroup with the cpuset controller.
  void cgroup(const std::string& path, const std::string& cpus, const std::string& partition = "member") const {
    put(path + "/cpuset.cpus", cpus + "\n");
    put(path + "/cpuset.cpus.effective", (cpus.empty() ? "0-7" : cpus) + "\n");
    put(path + "/cpuset.cpus.partition", partition + "\n");
    put(path + "/cgroup.procs", "");
  }
};

}  // namespace nrd::testing
