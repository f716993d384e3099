// The tasks (threads) of the real host: the simulated node runs real processes, so `tasks` files speak of real ids.
// A task is told from a later one with the same id by its start time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace nrd::simnode {

using Tasks = std::map<pid_t, std::uint64_t>;  // id and start time in clock ticks after boot

std::optional<std::uint64_t> start_time(pid_t task);
std::set<pid_t> every_task();
void forget_the_dead(Tasks& tasks);

}  // namespace nrd::simnode
