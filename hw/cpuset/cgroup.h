// Cgroups of version 2, as far as CPUs go (Documentation/admin-guide/cgroup-v2.rst, "Cpuset"). Their files alone:
// whether systemd manages one is for the caller to know.
//
// In version 1 each controller has a hierarchy of its own. A cgroup is then a path in that of memory or pids, of which
// only processes_in(), cpus_of_processes() and cpuset_of() know.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"
#include "base/task.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// Where version 2 is mounted alone, so that systemd uses it for everything.
inline constexpr const char* kCgroups = "/sys/fs/cgroup";

// Why CPUs cannot be limited by cgroups here; empty: they can.
std::string why_no_cpusets();
// True if the cgroups directly below `cgroup` have files of the cpuset controller.
bool has_cpusets_below(const std::string& cgroup);
// "/nrd.slice/nrd-7.scope". nullopt: the process has exited.
Result<std::optional<std::string>> cgroup_of(pid_t process);
// What limits the CPUs of a process.
struct CpusetPlace {
  std::string cgroup;  // in version 1 in the hierarchy of cpuset, where a container is elsewhere than in the others
  CpuSet cpus;
};
// nullopt: the process has exited.
Result<std::optional<CpusetPlace>> cpuset_of(pid_t process);
// True if there are processes in it or below (cgroup.events).
bool is_populated(const std::string& cgroup);
// cpuset.cpus.effective of a cgroup, the CPUs that its processes get at most; that of the next one above with such a
// file. nullopt: the cgroup does not exist.
Result<std::optional<CpuSet>> effective_cpus(const std::string& cgroup);
// The same; in version 1 that of the same path in the hierarchy of cpuset.
Result<std::optional<CpuSet>> cpus_of_processes(const std::string& cgroup);
// Hardware: `name`, whose cgroup that is, has other CPUs. Not if the cgroup has ended.
Result<void> check_effective(const std::string& name, const std::string& cgroup, const CpuSet& wanted);
// True if systemd has done what `request` asked, but not confirmed it in time: the files decide. Not if `cgroup` is
// empty.
bool is_done_unconfirmed(const Result<void>& request, const std::string& cgroup, const CpuSet& wanted);
// cpuset.cpus of those below that have one, and processes.
std::map<std::string, CpuSet> inner_cpus(const std::string& cgroup);
// Hardware: a cgroup below `cgroup` runs on a part of `wanted`.
Result<void> check_inner(const std::string& cgroup, const CpuSet& wanted);
// cpuset.cpus, which is empty where the parent's CPUs apply. nullopt: it has no such file.
Result<std::optional<CpuSet>> own_cpus(const std::string& cgroup);
// Writes cpuset.cpus. An empty set is refused by the kernel (ENOSPC) while there are processes.
Result<void> set_own_cpus(const std::string& cgroup, const CpuSet& cpus);
// cpuset.mems.effective and cpuset.mems, likewise.
Result<std::optional<MemoryNodes>> effective_memory_nodes(const std::string& cgroup);
Result<std::optional<MemoryNodes>> own_memory_nodes(const std::string& cgroup);
// cpuset.cpus.partition: "member", "root", "root invalid (...)". nullopt: it has no such file.
Result<std::optional<std::string>> partition_of(const std::string& cgroup);
// The kernel accepts it even where it makes an invalid partition.
Result<void> set_partition(const std::string& cgroup, const std::string& kind);
// The text of another file of it, "cpu.weight". nullopt: it has no such file.
Result<std::optional<std::string>> text_of_file(const std::string& cgroup, const char* file);
Result<void> write_to_file(const std::string& cgroup, const char* file, const std::string& value);
// The numbers of the processes in it and below, at most `most`.
std::vector<pid_t> processes_in(const std::string& cgroup, size_t most);
// "/x" of "/x/y"; "/" of "/x".
std::string parent_of(const std::string& cgroup);

}  // namespace nrd::cpuset
