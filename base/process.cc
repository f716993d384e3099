#include "base/process.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string>

#include "base/errno_text.h"
#include "base/file.h"
#include "base/task.h"

namespace nrd {
namespace {

bool has_ended(int fd) {
  pollfd ended{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) > 0;
}

}  // namespace

Result<std::optional<Process>> open_process(pid_t pid) {
  constexpr size_t kStatLimit = 4096;
  // glibc 2.36 has a wrapper, but its header conflicts with that of clone(2).
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.valid()) {
    if (errno == ESRCH || errno == EINVAL)
      return std::optional<Process>();  // EINVAL: the id of a thread, or not positive
    return fail(ErrorCode::Hardware, "cannot watch a process", fmt::format("pidfd_open {}: {}", pid, errno_text()));
  }
  // Read while the descriptor is open: until the process exits its number is not reused.
  const Result<std::optional<std::string>> text = read_file(fmt::format("/proc/{}/stat", pid), kStatLimit);
  if (has_ended(fd.get())) return std::optional<Process>();
  if (!text) return Failure(text.error());
  const std::optional<TaskStat> stat = parse_task_stat(text->value_or(""));
  if (!stat) return fail(ErrorCode::Hardware, "cannot read the start time of a process", fmt::format("/proc/{}", pid));
  return Process{.fd = std::move(fd), .start = stat->start};
}

}  // namespace nrd
