// Moving tasks from one group to another.
//
// A process is moved thread by thread while it may start new threads. A thread started by one that has already moved is
// in the new group, because it inherits its parent's class; the others are found by rereading /proc/PID/task until it
// shows nothing new. Writes go to the kernel's file and not through libpqos, which does not distinguish an exited
// thread from a failure.
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

// The place of each task, `group_of` being the directory ("COS2") of each thread outside the root group. List `threads`
// before reading the groups: a thread started in between is in the group of its process anyway.
std::map<Task, std::set<std::string>> places_of(const Threads& threads, const std::map<pid_t, std::string>& group_of);

// The moves that lead to `wanted`.
struct TaskMoves {
  std::map<Task, ClosId> leaving;   // to the root group; with the class to leave
  std::map<Task, ClosId> entering;  // with the class to enter
  std::set<ClosId> emptied;
  bool empty() const { return leaving.empty() && entering.empty() && emptied.empty(); }
};
// `masks_change`: a task that changes between two classes waits in the root group, so that it never uses reassigned
// ways (write_order.h).
TaskMoves task_moves(const Observed& observed, const Setting& wanted, bool masks_change);

// Errors name the task: "process 4711 did not move to class COS2".
Result<void> leave(const TaskMoves& moves);
Result<void> enter(const TaskMoves& moves);
// The final places, from the kernel's files.
Result<void> read_back(const TaskMoves& moves);

// `observed` after the moves.
void note(Observed& observed, const Setting& wanted, const TaskMoves& moves);

}  // namespace nrd::rdt
