// A process, meaning all its threads, or one thread alone; identified by number, start and boot, so that it is never
// mistaken for a later one.
//
// What is read belongs to one and the same process: /proc/ID is held open meanwhile, and answers ESRCH once that
// process is gone, even if a new one has its number (Documentation/filesystems/proc.rst).
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"

namespace nrd {

inline constexpr pid_t kLargestPid = 1 << 22;  // PID_MAX_LIMIT, include/linux/threads.h

struct Task {
  pid_t id = 0;
  pid_t process = 0;    // the process of the thread; its own id: the whole process is meant
  uint64_t start = 0;   // clock ticks after boot
  std::string boot_id;  // start and number are meaningless in another boot
  bool is_process() const { return id == process; }
  friend auto operator<=>(const Task&, const Task&) = default;
};

// Of /proc/ID/stat (proc(5)): "4711 (feed handler) S 1 ...". The name is between the first "(" and the last ")" and may
// contain anything.
struct TaskStat {
  pid_t id = 0;                                                  // field 1
  std::string name{};                                            // field 2, without the parentheses
  char state = '?';                                              // field 3; Z: a zombie
  uint32_t flags = 0;                                            // field 9
  uint64_t start = 0;                                            // field 22
  bool is_kernels() const { return (flags & 0x00200000) != 0; }  // PF_KTHREAD, include/linux/sched.h
  friend bool operator==(const TaskStat&, const TaskStat&) = default;
};
std::optional<TaskStat> parse_task_stat(std::string_view stat);

struct FoundTask {
  Task task;  // without boot_id
  bool is_kernels = false;
  CpuSet cpus;  // where it may run now: of a process, where any of its threads may
};
// The process or thread with this number. nullopt: there is none, or it has exited.
Result<std::optional<FoundTask>> find_task(pid_t id);

// The threads of `task`: one, or all of its process. In order; empty: it has exited.
Result<std::vector<pid_t>> threads_of(const Task& task);

// Processes whose command line, joined by blanks, matches one of the fnmatch(3) patterns: "ovs*", "*/dpdk-app *", and
// that run as one of these users. Kernel threads have no command line and match nothing. Without boot_id.
//
// The user who starts a process chooses its command line, so the line alone is no proof. All four of its user ids must
// be among `users`: a setuid program has the command line and real user id of its caller.
Result<std::set<Task>> find_processes(const std::vector<std::string>& patterns, const std::set<uid_t>& users);

// The online CPUs that a thread may run on (sched_getaffinity(2)). The errno on failure; ESRCH: it has exited.
tl::expected<CpuSet, int> affinity_of(pid_t thread);
// With a bit for each CPU that a CpuSet can have, whatever the kernel's number of them.
using AffinityMask = std::array<cpu_set_t, CpuSet::kMaxCpus / CPU_SETSIZE>;

// True if one of these threads still exists.
bool is_there(pid_t process, pid_t thread);

}  // namespace nrd
