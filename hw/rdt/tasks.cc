#include "hw/rdt/tasks.h"

#include <fmt/core.h>

#include <algorithm>

#include "hw/rdt/groups.h"
#include "hw/rdt/resctrl.h"

namespace nrd::rdt {
namespace {

// The maximum number of passes over a process that keeps starting threads: after the first pass its new ones are in the
// group anyway, or reading back finds them.
constexpr int kMaxPasses = 64;

// Names as in places_of().
std::string group_name(ClosId clos) { return clos == kRootClass ? "" : text_of(clos); }

std::string not_moved(const Task& task, ClosId to) {
  return fmt::format("{}{} did not move to class {}", task.is_process() ? "process " : "thread ", task.id, text_of(to));
}

// Moves all threads of `task` except those in `inside`, and adds them to it.
Result<void> move(const Task& task, ClosId to, std::set<pid_t>& inside) {
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const std::vector<pid_t> threads = TRY(threads_of(task));
    bool is_new = false;
    for (const pid_t thread : threads) {
      if (!inside.insert(thread).second) continue;
      is_new = true;
      const Result<bool> written = write_task(directory_of(to), thread);
      if (!written) return Failure(refused_write(written.error(), not_moved(task, to)));
    }
    if (!is_new) break;
  }
  return {};
}

Result<std::set<pid_t>> members_of(ClosId clos) {
  const std::optional<std::vector<pid_t>> tasks = TRY(read_tasks(directory_of(clos)));
  if (!tasks) return std::set<pid_t>();
  return std::set<pid_t>(tasks->begin(), tasks->end());
}

// Children of its tasks are in it as well, and may start others while they are moved.
Result<void> empty(ClosId clos) {
  Result<std::set<pid_t>> members = members_of(clos);
  for (int pass = 0; pass < kMaxPasses && members && !members->empty(); ++pass) {
    for (const pid_t thread : *members) {
      const Result<bool> written = write_task(directory_of(kRootClass), thread);
      if (!written) {
        return Failure(refused_write(written.error(), fmt::format("task {} did not move to class COS0", thread)));
      }
    }
    members = members_of(clos);
  }
  if (!members) return Failure(members.error());
  if (members->empty()) return {};
  return fail(ErrorCode::Hardware, fmt::format("task {} did not move to class COS0", *members->begin()));
}

// The class among `places` to leave if the task belongs in `to`.
std::optional<ClosId> class_to_leave(const std::set<std::string>& places, ClosId to) {
  for (const std::string& place : places) {
    if (const std::optional<ClosId> clos = class_of(place); clos && *clos != to) return clos;
  }
  return std::nullopt;
}

// True if a thread that still exists is (or is not) among `members`.
bool has_one(const Task& task, const std::vector<pid_t>& threads, const std::set<pid_t>& members, bool among) {
  return std::ranges::any_of(
      threads, [&](pid_t thread) { return members.contains(thread) == among && is_there(task.process, thread); });
}

// True if all (or none) of the threads of `task` are in the class. The threads are listed before the members, so that a
// thread started in between is not missed.
Result<bool> is_as_wanted(const Task& task, ClosId clos, bool belongs) {
  const std::vector<pid_t> threads = TRY(threads_of(task));
  const std::set<pid_t> members = TRY(members_of(clos));
  return !has_one(task, threads, members, !belongs);
}

}  // namespace

Result<Threads> threads_of_all(const std::set<Task>& tasks) {
  Threads all;
  for (const Task& task : tasks) {
    all[task] = TRY(threads_of(task));
  }
  return all;
}

std::map<Task, std::set<std::string>> places_of(const Threads& threads, const std::map<pid_t, std::string>& group_of) {
  std::map<Task, std::set<std::string>> places;
  for (const auto& [task, its] : threads) {
    std::set<std::string>& place = places[task];
    for (const pid_t thread : its) {
      if (const std::string* group = find_in(group_of, thread)) {
        place.insert(*group);
      } else if (is_there(task.process, thread)) {
        place.insert("");
      }
    }
  }
  return places;
}

TaskMoves task_moves(const Observed& observed, const Setting& wanted, bool masks_change) {
  TaskMoves moves;
  for (const auto& [task, to] : wanted.tasks) {
    const std::set<std::string>* places = find_in(observed.tasks, task);
    if (places == nullptr || places->empty()) continue;
    const std::optional<ClosId> from = class_to_leave(*places, to);
    if (from && (to == kRootClass || masks_change)) moves.leaving.emplace(task, *from);
    const bool is_there_already = *places == std::set<std::string>{group_name(to)};
    if (to != kRootClass && !is_there_already) moves.entering.emplace(task, to);
  }
  for (const ClosId clos : wanted.without_tasks) {
    const Class* group = find_in(observed.classes, clos);
    if (group && group->has_tasks()) moves.emptied.insert(clos);
  }
  return moves;
}

Result<void> leave(const TaskMoves& moves) {
  for (const auto& [task, from] : moves.leaving) {
    std::set<pid_t> moved_already;
    TRY(move(task, kRootClass, moved_already));
  }
  for (const ClosId clos : moves.emptied) {
    TRY(empty(clos));
  }
  return {};
}

Result<void> enter(const TaskMoves& moves) {
  std::map<ClosId, std::set<pid_t>> inside;
  for (const auto& [task, to] : moves.entering) {
    if (!inside.contains(to)) {
      inside[to] = TRY(members_of(to));
    }
    TRY(move(task, to, inside.at(to)));
  }
  return {};
}

// Tasks of one class share one file: read it once, and again only for a task that seems to be missing.
Result<void> read_back(const TaskMoves& moves) {
  std::map<ClosId, std::set<pid_t>> members;
  const auto check = [&members](const Task& task, ClosId clos, bool belongs) -> Result<void> {
    if (!members.contains(clos)) {
      members[clos] = TRY(members_of(clos));
    }
    const std::vector<pid_t> threads = TRY(threads_of(task));
    if (!has_one(task, threads, members.at(clos), !belongs)) return {};
    const bool is_right = TRY(is_as_wanted(task, clos, belongs));
    if (is_right) return {};
    return fail(ErrorCode::Hardware, not_moved(task, belongs ? clos : kRootClass));
  };
  for (const auto& [task, to] : moves.entering) {
    TRY(check(task, to, true));
  }
  for (const auto& [task, from] : moves.leaving) {
    if (moves.entering.contains(task)) continue;
    TRY(check(task, from, false));
  }
  return {};
}

void note(Observed& observed, const Setting& wanted, const TaskMoves& moves) {
  for (const auto& [task, from] : moves.leaving) observed.tasks[task] = {""};
  for (const auto& [task, to] : moves.entering) {
    observed.tasks[task] = {group_name(to)};
    observed.classes[to].tasks = std::max<size_t>(observed.classes[to].tasks, 1);
  }
  for (const ClosId clos : wanted.without_tasks) {
    const auto group = observed.classes.find(clos);
    if (group != observed.classes.end()) group->second.tasks = 0;
  }
}

}  // namespace nrd::rdt
