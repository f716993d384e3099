#include "hw/rdt/tasks.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "hw/rdt/resctrl.h"

namespace nrd::rdt::tasks_test {
namespace {

Task a_process(pid_t id) { return {.id = id, .process = id, .start = 5, .boot_id = "boot"}; }

// This process, which is there to be looked for.
Task this_process() { return (**find_task(::getpid())).task; }

Observed with_classes() {
  Observed observed;
  for (uint32_t clos = 0; clos < 4; ++clos) observed.classes[ClosId{clos}] = {};
  return observed;
}

}  // namespace

TEST_CASE("a tasks file is a number a line") {
  CHECK(parse_tasks("") == std::vector<pid_t>{});
  CHECK(parse_tasks("12\n7\n") == std::vector<pid_t>{7, 12});
  for (const char* text : {"12", "12\n7", "12\n\n", "x\n", "-\n", "12 7\n"}) {
    INFO("tasks \"" << text << "\"");
    CHECK_FALSE(parse_tasks(text).has_value());
  }
}

TEST_CASE("a process is where its threads are") {
  const Task task = this_process();
  const pid_t id = ::getpid();
  const Task gone = a_process(4000000);
  const Threads threads{{task, {id}}, {gone, {}}};
  CHECK(places_of(threads, {}).at(task) == std::set<std::string>{""});
  CHECK(places_of(threads, {{id, "COS2"}}).at(task) == std::set<std::string>{"COS2"});
  CHECK(places_of(threads, {{id, "COS2"}}).at(gone).empty());
  // A thread that was listed and has ended since is nowhere.
  CHECK(places_of({{task, {id, 4000001}}}, {{id, "COS2"}}).at(task) == std::set<std::string>{"COS2"});
}

TEST_CASE("tasks enter the class they are wanted in, and only what differs moves") {
  Observed observed = with_classes();
  observed.tasks = {{a_process(1), {""}}, {a_process(2), {"COS2"}}, {a_process(3), {"", "COS2"}}, {a_process(4), {}}};
  Setting wanted;
  for (pid_t id = 1; id <= 4; ++id) wanted.tasks[a_process(id)] = ClosId{2};
  const TaskMoves moves = task_moves(observed, wanted, true);
  CHECK(moves.entering == std::map<Task, ClosId>{{a_process(1), ClosId{2}}, {a_process(3), ClosId{2}}});
  CHECK(moves.leaving.empty());
  note(observed, wanted, moves);
  CHECK(task_moves(observed, wanted, true).empty());
  CHECK(observed.classes.at(ClosId{2}).has_tasks());
}

TEST_CASE("a task that changes class waits in the root group while masks change") {
  Observed observed = with_classes();
  observed.tasks[a_process(1)] = {"COS2"};
  Setting wanted;
  wanted.tasks[a_process(1)] = ClosId{3};
  CHECK(task_moves(observed, wanted, true).leaving.at(a_process(1)) == ClosId{2});
  CHECK(task_moves(observed, wanted, false).leaving.empty());
  CHECK(task_moves(observed, wanted, false).entering.at(a_process(1)) == ClosId{3});
}

TEST_CASE("a task without a workload leaves its class, but not a foreign group") {
  Observed observed = with_classes();
  observed.tasks = {{a_process(1), {"COS2"}}, {a_process(2), {"theirs"}}, {a_process(3), {""}}};
  Setting wanted;
  for (pid_t id = 1; id <= 3; ++id) wanted.tasks[a_process(id)] = ClosId{0};
  const TaskMoves moves = task_moves(observed, wanted, false);
  CHECK(moves.leaving == std::map<Task, ClosId>{{a_process(1), ClosId{2}}});
  CHECK(moves.entering.empty());
}

TEST_CASE("a class is emptied if it has tasks") {
  Observed observed = with_classes();
  observed.classes[ClosId{2}].tasks = 1;
  Setting wanted;
  wanted.without_tasks = {ClosId{2}, ClosId{3}};
  const TaskMoves moves = task_moves(observed, wanted, false);
  CHECK(moves.emptied == std::set<ClosId>{ClosId{2}});
  note(observed, wanted, moves);
  CHECK(task_moves(observed, wanted, false).empty());
}

}  // namespace nrd::rdt::tasks_test
