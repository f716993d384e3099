#include "hw/onload/stop_process.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ostream>

#include "hw/onload/process_dir.h"

namespace nrd::onload::stop_process_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

enum class OnSigterm { Ends, Ignores };

// A process of our own; what it runs is this test.
class Child {
 public:
  explicit Child(OnSigterm on_sigterm) {
    std::array<int, 2> ready{};
    REQUIRE(::pipe(ready.data()) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::signal(SIGTERM, on_sigterm == OnSigterm::Ignores ? SIG_IGN : SIG_DFL);
      const char byte = 0;
      if (::write(ready[1], &byte, 1) == 1) {
        for (;;) ::pause();
      }
      ::_exit(1);
    }
    char byte = 1;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
    ::close(ready[1]);
    const ProcessDir directory = ProcessDir::open("", pid_).value().value();
    id_ = identity_of(*directory.status().value());
    exe_ = directory.link("exe").value().value();
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  const ProcessId& id() const { return id_; }
  const std::string& exe() const { return exe_; }
  bool lives() const {
    const auto status = ProcessDir::open("", pid_).value().value().status().value();
    return status && status->state != 'Z';
  }

 private:
  pid_t pid_ = 0;
  ProcessId id_;
  std::string exe_;
};

}  // namespace

TEST_CASE("a terminated process is awaited") {
  const Child child(OnSigterm::Ends);
  CHECK(stop_process(child.id(), child.exe(), seconds(30)).has_value());
  CHECK_FALSE(child.lives());
}

TEST_CASE("a process that ignores SIGTERM is killed") {
  const Child child(OnSigterm::Ignores);
  CHECK(stop_process(child.id(), child.exe(), milliseconds(20)).has_value());
  CHECK_FALSE(child.lives());
}

TEST_CASE("a process that is not the one found before is left untouched") {
  const Child child(OnSigterm::Ends);
  const ProcessId later{child.id().pid, child.id().start + 1};
  CHECK(stop_process(later, child.exe(), seconds(1)).has_value());
  CHECK(stop_process(child.id(), "/sbin/onload_cp_server", seconds(1)).has_value());
  CHECK(child.lives());
}

TEST_CASE("an ended process is reported as gone") {
  ProcessId id;
  std::string exe;
  {
    const Child child(OnSigterm::Ends);
    id = child.id();
    exe = child.exe();
  }
  CHECK(stop_process(id, exe, seconds(1)).has_value());
}

// The kernel then has the number still, and says EINVAL of it and not ESRCH.
TEST_CASE("a process whose group outlives it is reported as gone") {
  std::array<int, 2> alive{};
  REQUIRE(::pipe(alive.data()) == 0);
  const pid_t first = ::fork();
  if (first == 0) {
    ::setpgid(0, 0);
    if (::fork() != 0) ::_exit(0);
    char byte = 0;
    ::close(alive[1]);
    ::_exit(::read(alive[0], &byte, 1) == 0 ? 0 : 1);
  }
  REQUIRE(::waitpid(first, nullptr, 0) == first);
  const ProcessId gone{.pid = first, .start = 1};
  CHECK(stop_process(gone, "/bin/true", seconds(1)).has_value());
  CHECK(signal_process(gone, Signal::Kill).has_value());
  CHECK(::kill(-first, 0) == 0);  // the signal does not go to the process group
  ::close(alive[0]);
  ::close(alive[1]);
}

TEST_CASE("a signal reaches only the process that was found") {
  const Child child(OnSigterm::Ends);
  const ProcessId later{child.id().pid, child.id().start + 1};
  CHECK(signal_process(later, Signal::Kill));
  CHECK(child.lives());
  CHECK(signal_process(child.id(), Signal::Term));
  while (child.lives()) ::usleep(1000);
  CHECK(signal_process(child.id(), Signal::Kill));
}

TEST_CASE("a process that ignores SIGTERM gets SIGKILL") {
  const Child child(OnSigterm::Ignores);
  CHECK(signal_process(child.id(), Signal::Term));
  CHECK(child.lives());
  CHECK(signal_process(child.id(), Signal::Kill));
  while (child.lives()) ::usleep(1000);
}

}  // namespace nrd::onload::stop_process_test
