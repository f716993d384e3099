#include "cli/processes/supervise.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <set>

#include "base/errno_text.h"
#include "base/unique_fd.h"
#include "cli/granted_cpus.h"
#include "cli/launch.h"

namespace nrd::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGrace{10};
constexpr std::array kForwarded{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};

void unblock_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

sigset_t awaited_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : kForwarded) ::sigaddset(&signals, signal);
  ::sigaddset(&signals, SIGCHLD);
  return signals;
}

// Before the first child ends.
void block_signals() {
  const sigset_t signals = awaited_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
}

// errno if the program cannot be executed.
int execute(const Started& process, const Environment& environment) {
  if (!process.cpus.empty() && set_affinity(process.cpus) != 0) return errno;
  std::vector<std::string> words = process.command;
  std::vector<std::string> lines = lines_of(environment);
  ::execvpe(words.front().c_str(), pointers_to(words).data(), pointers_to(lines).data());
  return errno;
}

tl::unexpected<Stop> not_started(const Started& process, int error) {
  errno = error;
  return stop(error == ENOENT ? kNoSuchCommand : kNotExecutable,
              fmt::format("{} cannot be started{}: {}", process.command.front(),
                          process.cpus.empty() ? "" : " on CPU " + process.cpus.to_string(), errno_text()));
}

// Its number, once the program runs: the pipe is closed by execve(2).
OrStop<pid_t> start(const Started& process, const Environment& environment) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return stop(kRefused, errno_text("cannot start a process"));
  UniqueFd reads(ends[0]);
  UniqueFd writes(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return stop(kRefused, errno_text("cannot start a process"));
  if (child == 0) {
    unblock_signals();
    const int error = execute(process, environment);
    [[maybe_unused]] const ssize_t written = ::write(writes.get(), &error, sizeof error);
    ::_exit(kNotExecutable);
  }
  writes = UniqueFd();
  int error = 0;
  ssize_t got = 0;
  do got = ::read(reads.get(), &error, sizeof error);
  while (got < 0 && errno == EINTR);
  if (got == 0) return child;
  ::waitpid(child, nullptr, 0);
  return not_started(process, error);
}

class Children {
 public:
  OrStop<> start_all(const std::vector<Started>& processes, const Environment& environment) {
    for (const Started& process : processes) {
      const OrStop<pid_t> child = start(process, environment);
      if (!child) {
        end();
        return tl::unexpected(child.error());
      }
      running_.insert(*child);
    }
    return {};
  }

  void end() {
    end_by(SIGTERM);
    wait();
  }

  // The status of the first that failed.
  int wait() {
    const sigset_t signals = awaited_signals();
    for (reap(); !running_.empty(); reap()) {
      const auto left = kill_at_ ? std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - Clock::now())
                                 : std::chrono::milliseconds(std::chrono::hours(1));
      const auto ms = std::max<int64_t>(left.count(), 0);
      const timespec remaining{.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1'000'000};
      siginfo_t info{};
      const int signal = ::sigtimedwait(&signals, &info, &remaining);
      if (kill_at_ && Clock::now() >= *kill_at_) end_by(SIGKILL);
      // Of the terminal (SI_KERNEL), which sends them to the whole group.
      if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) send(signal);
    }
    return status_;
  }

 private:
  void send(int signal) const {
    for (const pid_t child : running_) ::kill(child, signal);
  }

  void end_by(int signal) {
    send(signal);
    kill_at_ = Clock::now() + kGrace;
  }

  void reap() {
    int status = 0;
    for (pid_t child = 0; (child = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (running_.erase(child) == 0 || status == 0) continue;  // an orphan, or one that is done
      if (status_ == 0) status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      if (!kill_at_) end_by(SIGTERM);
    }
  }

  std::set<pid_t> running_;
  int status_ = 0;
  std::optional<Clock::time_point> kill_at_;
};

}  // namespace

OrStop<> supervise(const std::vector<Started>& processes, const Environment& environment) {
  block_signals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Children children;
  TRY(children.start_all(processes, environment));
  const int status = children.wait();
  return status == 0 ? OrStop<>() : stop(status);
}

OrStop<> execute_last(const std::vector<Started>& processes, const Environment& environment) {
  block_signals();
  Children children;
  TRY(children.start_all({processes.begin(), processes.end() - 1}, environment));
  unblock_signals();
  const int error = execute(processes.back(), environment);
  block_signals();
  children.end();
  return not_started(processes.back(), error);
}

}  // namespace nrd::cli
