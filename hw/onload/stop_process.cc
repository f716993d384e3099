#include "hw/onload/stop_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/unique_fd.h"
#include "hw/onload/control_plane.h"
#include "hw/onload/process_dir.h"

namespace nrd::onload {
namespace {

using std::chrono::steady_clock;

// Nobody can ignore SIGKILL, but one that waits for the hardware dies after it only.
constexpr std::chrono::seconds kKillPatience{5};

std::string name_of(const ProcessId& process) { return "process " + std::to_string(process.pid); }

Failure failed(const ProcessId& process, const char* call, int error) {
  return fail(ErrorCode::Hardware, "cannot stop " + name_of(process),
              std::string(call) + ": " + std::generic_category().message(error));
}

Result<bool> is_what_was_found(const ProcessId& process, const std::string& exe) {
  const std::optional<ProcessDir> directory = TRY(ProcessDir::open("", process.pid));
  if (!directory) return false;
  const auto status = directory->status();
  const auto link = directory->link("exe");
  if (!status) return Failure(status.error());
  if (!link) return Failure(link.error());
  return *status && *link && (*status)->id == process && program_of(**link) == exe;
}

// True: it has ended.
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

Result<bool> send_and_wait(const ProcessId& process, int pidfd, int signal, std::chrono::milliseconds patience) {
  const steady_clock::time_point until = steady_clock::now() + patience;
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) != 0) {
    if (errno == ESRCH) return true;
    return failed(process, "pidfd_send_signal", errno);
  }
  return wait_for_end(process, pidfd, until);
}

// EINVAL: a thread has the number, or a group of processes still has it whose first has ended.
bool says_nobody(int error) { return error == ESRCH || error == EINVAL; }

}  // namespace

Result<Stopped> stop_process(const ProcessId& process, const std::string& exe, std::chrono::milliseconds patience,
                             IfItStays if_it_stays) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pidfd.valid()) {
    if (says_nobody(errno)) return Stopped::WasGone;
    return failed(process, "pidfd_open", errno);
  }
  // Asked after the descriptor was taken: as long as the answer is yes, the descriptor is of that very process.
  const bool found = TRY(is_what_was_found(process, exe));
  if (!found) return Stopped::WasGone;

  const bool ended = TRY(send_and_wait(process, pidfd.get(), SIGTERM, patience));
  if (ended) return Stopped::Ended;
  if (if_it_stays == IfItStays::Kill) {
    const bool killed = TRY(send_and_wait(process, pidfd.get(), SIGKILL, kKillPatience));
    if (killed) return Stopped::Killed;
  }
  return fail(ErrorCode::Busy, name_of(process) + " did not exit in time", exe);
}

Result<void> signal_process(const ProcessId& process, Signal signal) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pidfd.valid()) return says_nobody(errno) ? Result<void>() : failed(process, "pidfd_open", errno);
  const std::optional<ProcessDir> directory = TRY(ProcessDir::open("", process.pid));
  const auto status = TRY(directory ? directory->status() : std::nullopt);
  if (!status || status->id != process) return {};
  const int number = signal == Signal::Term ? SIGTERM : SIGKILL;
  if (::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0) == 0 || errno == ESRCH) return {};
  return failed(process, "pidfd_send_signal", errno);
}

}  // namespace nrd::onload
