// The files cpuN/power/pm_qos_resume_latency_us below /sys/devices/system/cpu: how long each CPU may take to leave an
// idle state. They are there for CPUs that are offline too, and keep what was written.
#pragma once

#include <map>

#include "machine.h"
#include "tree.h"

namespace nrd::simnode {

class PowerTree : public Tree {
 public:
  explicit PowerTree(const Machine& machine) : machine_(machine) {}

  void wipe() { limits_.clear(); }  // a reboot

  std::optional<mode_t> mode(const std::string& path) override;
  // "" and cpuN are folders of others; what belongs into them from here.
  std::vector<std::string> list(const std::string& folder) override;
  int read(const std::string& path, std::string& content) override;
  int write(const std::string& path, std::string_view text, pid_t writer) override;

 private:
  const Machine& machine_;
  std::map<int, std::string> limits_;  // of CPUs where one was written
};

}  // namespace nrd::simnode
