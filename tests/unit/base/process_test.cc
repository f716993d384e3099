#include "base/process.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nrd::process_test {

using nrd::open_process;

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
