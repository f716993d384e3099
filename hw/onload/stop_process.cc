#include "hw/onload/stop_process.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_text.h"
#include "base/process.h"
#include "base/unique_fd.h"
#include "hw/onload/control_plane.h"
#include "hw/onload/process_dir.h"

namespace nrd::onload {
namespace {

using std::chrono::steady_clock;

// A process in an uninterruptible wait exits only after it.
constexpr std::chrono::seconds kKillTimeout{5};

std::string name_of(const ProcessId& process) { return fmt::format("process {}", process.pid); }

Failure failed(const ProcessId& process, const char* call, int error) {
  return fail(ErrorCode::Hardware, "cannot stop " + name_of(process), errno_text(call, error));
}

Result<bool> runs(const ProcessId& process, const std::string& exe) {
  const std::optional<ProcessDir> directory = TRY(ProcessDir::open("", process.pid));
  if (!directory) return false;
  const auto link = TRY(directory->link("exe"));
  return link && program_of(*link) == exe;
}

// True: it has exited.
Result<bool> wait_for_end(const ProcessId& process, int pidfd, steady_clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    pollfd end{.fd = pidfd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&end, 1, static_cast<int>(std::clamp<int64_t>(left.count(), 0, INT32_MAX)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return failed(process, "poll", errno);
    if (ready == 0 && steady_clock::now() >= until) return false;
  }
}

// False: it has exited.
Result<bool> send(const ProcessId& process, int pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0) return true;
  return errno == ESRCH ? Result<bool>(false) : failed(process, "pidfd_send_signal", errno);
}

Result<bool> send_and_wait(const ProcessId& process, int pidfd, int signal, std::chrono::milliseconds timeout) {
  const steady_clock::time_point until = steady_clock::now() + timeout;
  const bool is_sent = TRY(send(process, pidfd, signal));
  return is_sent ? wait_for_end(process, pidfd, until) : true;
}

// Held, so that its number is not that of a later process. nullopt: it has exited.
Result<std::optional<UniqueFd>> open_pidfd(const ProcessId& process) {
  std::optional<Process> found = TRY(open_process(process.pid));
  if (!found || found->start != process.start) return std::nullopt;
  return std::move(found->fd);
}

}  // namespace

Result<void> stop_process(const ProcessId& process, const std::string& exe, std::chrono::milliseconds timeout) {
  const std::optional<UniqueFd> pidfd = TRY(open_pidfd(process));
  if (!pidfd) return {};
  const bool is_same = TRY(runs(process, exe));
  if (!is_same) return {};
  const bool ended = TRY(send_and_wait(process, pidfd->get(), SIGTERM, timeout));
  if (ended) return {};
  const bool killed = TRY(send_and_wait(process, pidfd->get(), SIGKILL, kKillTimeout));
  if (killed) return {};
  return fail(ErrorCode::Busy, name_of(process) + " did not exit in time", exe);
}

Result<void> signal_process(const ProcessId& process, Signal signal) {
  const std::optional<UniqueFd> pidfd = TRY(open_pidfd(process));
  if (!pidfd) return {};
  return send(process, pidfd->get(), signal == Signal::Term ? SIGTERM : SIGKILL).map([](bool) {});
}

}  // namespace nrd::onload
