// Tasks on their way from one group to another.
//
// A process is moved thread by thread, and threads may start while that goes on: whoever starts one that has moved
// already is in the new group from its first instruction, because the kernel gives it the class of its parent; the
// others are found when /proc/PID/task is read again, until nothing in there is new. They are written to the kernel's
// file and not through libpqos, which does not tell a thread that has ended meanwhile from a failure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

using Threads = std::map<Task, std::vector<pid_t>>;
Result<Threads> threads_of_all(const std::set<Task>& tasks);

// Where each of them is, `group_of` being the directory ("COS2") of each thread that is not in the root group. To be
// asked for `threads` before the groups are read: one that starts in between is in the group of its process anyway.
std::map<Task, std::set<std::string>> places_of(const Threads& threads, const std::map<pid_t, std::string>& group_of);

// What has to be done so that `wanted` comes about.
struct TaskMoves {
  std::map<Task, ClosId> leaving;   // and the class that it is in; to the root group
  std::map<Task, ClosId> entering;  // and where it goes
  std::set<ClosId> emptied;
  bool empty() const { return leaving.empty() && entering.empty() && emptied.empty(); }
};
// `masks_change`: whoever changes between two classes waits in the root group, where he is nobody's guest while ways
// change hands (write_order.h).
TaskMoves task_moves(const Observed& observed, const Setting& wanted, bool masks_change);

// Errors name what did not move: "process 4711 did not move to class COS2".
Result<void> leave(const TaskMoves& moves);
Result<void> enter(const TaskMoves& moves);
// From the kernel's files: where they ended.
Result<void> read_back(const TaskMoves& moves);

// `observed` after that.
void note(Observed& observed, const Setting& wanted, const TaskMoves& moves);

}  // namespace nrd::rdt
