// The CPUs of all cgroups of version 2, read only.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "base/cpu_set.h"

namespace nrd::cpuset {

struct CgroupCpus {
  std::string path{};       // "/system.slice/feed.service"
  CpuSet cpus{};            // cpuset.cpus; empty: whatever its parent has
  CpuSet effective{};       // cpuset.cpus.effective
  std::string partition{};  // cpuset.cpus.partition: "member", "root", "isolated", "root invalid (…)"
  friend bool operator==(const CgroupCpus&, const CgroupCpus&) = default;
};

inline constexpr size_t kMostCgroups = 4096;
inline constexpr size_t kDeepestCgroup = 8;  // levels below the root

// Those below `root`, parents before their children, that have the cpuset controller. Those above the limits, and those
// that vanish meanwhile, are left out.
std::vector<CgroupCpus> list_cgroups(const std::string& root);
// Of a name in text: users choose names of cgroups, which reach terminals and the journal.
inline constexpr size_t kLongestName = 256;
// Names of those directly below the folder of a cgroup; none of more than 65,536. Follows no links: users make cgroups
// where they were delegated one.
std::vector<std::string> folders_in(const std::string& path);
// Empty if there is no such cgroup.
std::set<pid_t> processes_in(const std::string& root, const std::string& path);

}  // namespace nrd::cpuset
