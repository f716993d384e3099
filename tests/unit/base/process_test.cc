#include "base/process.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/task.h"

namespace nrd::process_test {

using nrd::open_process;

namespace {

std::optional<uint64_t> start_in(const std::string& text) {
  const auto stat = parse_task_stat(text);
  return stat ? std::optional(stat->start) : std::nullopt;
}

constexpr const char* kBefore = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 ";

}  // namespace

TEST_CASE("the start of a process is read whatever its name is") {
  for (const char* name : {"feed", "a) S 1 2", "", "((", "two words"}) {
    CAPTURE(name);
    CHECK(start_in("4711 (" + std::string(name) + ")" + kBefore + "987654 0 0\n") == 987654);
  }
}

TEST_CASE("an invalid status line of a process has no start") {
  for (const std::string& text :
       {std::string(), std::string("4711 (feed)"), "4711 (feed)" + std::string(kBefore),
        "4711 (feed)" + std::string(kBefore) + "98", "4711 (feed)" + std::string(kBefore) + "x 0",
        "4711 (feed)" + std::string(kBefore) + "-1 0",
        "4711 (feed)" + std::string(kBefore) + "99999999999999999999 0"}) {
    CAPTURE(text);
    CHECK_FALSE(start_in(text));
  }
}

TEST_CASE("a zombie process counts as exited") {
  int pipe_fds[2] = {};
  REQUIRE(::pipe(pipe_fds) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    ::close(pipe_fds[1]);
    const ssize_t end = ::read(pipe_fds[0], &byte, 1);
    ::_exit(static_cast<int>(end));
  }
  ::close(pipe_fds[0]);
  const auto alive = open_process(child);
  REQUIRE(alive);
  REQUIRE(*alive);
  CHECK((*alive)->start > 0);

  ::close(pipe_fds[1]);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  const auto zombie = open_process(child);
  REQUIRE(zombie);
  CHECK_FALSE(*zombie);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  const auto gone = open_process(child);
  REQUIRE(gone);
  CHECK_FALSE(*gone);
}

TEST_CASE("unused process numbers have no process") {
  for (const pid_t pid : {0, -1}) {
    const auto none = open_process(pid);
    REQUIRE(none);
    CHECK_FALSE(*none);
  }
}

}  // namespace nrd::process_test
