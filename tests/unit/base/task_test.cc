#include "base/task.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <latch>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace nrd::task_test {
namespace {

constexpr const char* kFields = " 1 2 3 4 5 2129984 7 8 9 10 11 12 13 14 15 16 17 18 987654 0 0\n";

std::string with_start(const std::string& text) {
  return "4711 (feed) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 " + text;
}

// A thread that lives as long as this.
struct Companion {
  Companion() { running.wait(); }
  ~Companion() {
    end.count_down();
    thread.join();
  }
  std::latch running{1};
  std::latch end{1};
  pid_t id = 0;
  std::thread thread{[this] {
    id = static_cast<pid_t>(::syscall(SYS_gettid));
    running.count_down();
    end.wait();
  }};
};

}  // namespace

TEST_CASE("the status of a task is read whatever its name is") {
  for (const char* name : {"feed", "a) S 1 2", "", "((", "two words"}) {
    CAPTURE(name);
    const auto stat = parse_task_stat("4711 (" + std::string(name) + ") S" + kFields);
    REQUIRE(stat);
    CHECK(*stat == TaskStat{.id = 4711, .name = name, .state = 'S', .flags = 2129984, .start = 987654});
    CHECK(stat->is_kernels());
  }
  CHECK_FALSE(
      parse_task_stat("1 (init) S 0 1 1 0 -1 4194560 7 8 9 10 11 12 13 14 15 16 17 18 19 20 0 0\n")->is_kernels());
}

TEST_CASE("an invalid status line of a task is none") {
  for (const std::string& text :
       {std::string(), std::string("4711 (feed)"), std::string("4711 (feed) S 1 2"),
        "0 (feed) S" + std::string(kFields), "(feed) S" + std::string(kFields), "4711 ) (S" + std::string(kFields),
        "4711 (feed) SS" + std::string(kFields), "4711 (feed) S" + std::string(kFields).substr(0, 54), with_start("98"),
        with_start(""), with_start("x 0"), with_start("-1 0"), with_start("99999999999999999999 0")}) {
    CAPTURE(text);
    CHECK_FALSE(parse_task_stat(text));
  }
}

TEST_CASE("a process is all its threads and a thread is itself alone") {
  const Companion companion;
  const auto process = find_task(::getpid());
  REQUIRE(process);
  REQUIRE(*process);
  CHECK((*process)->task.is_process());
  CHECK_FALSE((*process)->is_kernels);
  CHECK_FALSE((*process)->cpus.empty());
  const auto thread = find_task(companion.id);
  REQUIRE(thread);
  REQUIRE(*thread);
  CHECK((*thread)->task.process == ::getpid());
  CHECK_FALSE((*thread)->task.is_process());
  const auto all = threads_of((*process)->task);
  REQUIRE(all);
  CHECK(std::ranges::find(*all, companion.id) != all->end());
  CHECK(std::ranges::find(*all, ::getpid()) != all->end());
  CHECK(*threads_of((*thread)->task) == std::vector<pid_t>{companion.id});
  CHECK(is_there(::getpid(), companion.id));
}

TEST_CASE("the CPUs of a thread are those of its affinity") {
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  CpuSet all;
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(affinity_of(0) == CpuSet{cpu});
    all.add(CpuId{cpu});
  }
  REQUIRE(::sched_setaffinity(0, sizeof before, &before) == 0);
  CHECK(affinity_of(0) == all);
}

TEST_CASE("a task that started at another time has ended") {
  Task task = (**find_task(::getpid())).task;
  ++task.start;
  CHECK(threads_of(task)->empty());
}

// Other users can make the reader of their command line wait for ever.
TEST_CASE("the command line of a process of another user is not read") {
  const UniqueFd opened(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const std::string path = "/proc/" + std::to_string(::getpid()) + "/cmdline";
  REQUIRE(::inotify_add_watch(opened.get(), path.c_str(), IN_OPEN) >= 0);
  const auto is_read_for = [&opened](uid_t user) {
    std::array<char, 1024> events;
    REQUIRE(find_processes({"*"}, {user}));
    return ::read(opened.get(), events.data(), events.size()) > 0;
  };
  CHECK(is_read_for(::getuid()));
  int unread = 0;
  for (int i = 0; i < 10; ++i) unread += is_read_for(::getuid() + 1) ? 0 : 1;
  CHECK(unread > 0);  // ps on the same host may read it as well, but not each time
}

TEST_CASE("a zombie process counts as exited") {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK_FALSE(*find_task(child));
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  const auto gone = find_task(child);
  REQUIRE(gone);
  CHECK_FALSE(*gone);
  CHECK_FALSE(is_there(child, child));
}

}  // namespace nrd::task_test
