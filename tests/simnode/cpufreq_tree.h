// The files of cpufreq below /sys/devices/system/cpu over the rules of cpufreq.h: which there are under which driver,
// what they show, and which rule a write to each of them asks for.
//
//   cpufreq/policyN/…       the files, named after the lowest CPU of the policy
//   cpuN/cpufreq            a link there, of each CPU
//   cpufreq/boost           acpi-cpufreq
//   intel_pstate/…          intel_pstate, intel_cpufreq
#pragma once

#include "cpufreq.h"
#include "tree.h"

namespace nrd::simnode {

class CpufreqTree : public Tree {
 public:
  explicit CpufreqTree(Cpufreq& cpufreq) : cpufreq_(cpufreq) {}

  std::optional<mode_t> mode(const std::string& path) override;
  // "" and cpuN are folders of others; what belongs into them from here.
  std::vector<std::string> list(const std::string& folder) override;
  int read(const std::string& path, std::string& content) override;
  int write(const std::string& path, std::string_view text, pid_t writer) override;

 private:
  bool shows(const Policy& policy) const;
  Policy* shown_policy(const std::string& folder);
  std::optional<std::string> link_of(const std::string& cpu) const;

  Cpufreq& cpufreq_;
};

}  // namespace nrd::simnode
