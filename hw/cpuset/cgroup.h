// Cgroups of version 2, as far as CPUs go (Documentation/admin-guide/cgroup-v2.rst, "Cpuset"). Read only.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/cpu_set.h"
#include "base/result.h"
#include "base/task.h"

namespace nrd::cpuset {

// Where version 2 is mounted alone, so that systemd uses it for everything.
inline constexpr const char* kCgroups = "/sys/fs/cgroup";

// Why CPUs cannot be limited by cgroups here; empty: they can.
std::string why_no_cpusets();
// True if the cgroups below the root have files of the cpuset controller.
bool is_cpuset_enabled();
// "/nrd.slice/nrd-7.scope". nullopt: the process has exited.
Result<std::optional<std::string>> cgroup_of(pid_t process);
// cpuset.cpus.effective of a cgroup, the CPUs that its processes get at most. nullopt: it does not exist, or has no
// such file.
Result<std::optional<CpuSet>> effective_cpus(const std::string& cgroup);

}  // namespace nrd::cpuset
