// The tasks (threads) of the real host: the simulated node runs real processes, so `tasks` files have real ids.
// The start time distinguishes a task from a later one with the same id.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace nrd::simnode {

// Clock ticks after boot.
struct Stay {
  std::uint64_t start = 0;  // of the task
  std::uint64_t since = 0;  // it has been in its group
};
using Tasks = std::map<pid_t, Stay>;

std::optional<std::uint64_t> start_time(pid_t task);
std::set<pid_t> every_process();
std::set<pid_t> every_task();
std::set<pid_t> children_of(pid_t process);
void forget_the_dead(Tasks& tasks);

std::uint64_t ticks_now();
// Threads and children of these tasks that started after them in the group: the kernel gave them the class of their
// parent. /proc does not have the thread that started another one, so the first thread of the process stands for all.
Tasks heirs_of(const Tasks& tasks);

}  // namespace nrd::simnode
