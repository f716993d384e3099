#include "base/process.h"

#include <poll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>

#include "base/errno_text.h"
#include "base/file.h"

namespace nrd {
namespace {

bool has_ended(int fd) {
  pollfd ended{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) > 0;
}

}  // namespace

std::optional<uint64_t> start_in(std::string_view stat) {
  constexpr int kFieldsBetween = 20;  // after the name come fields 3 to 21, each with a blank before it
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  std::string_view rest = stat.substr(name_end + 1);
  for (int field = 0; field < kFieldsBetween; ++field) {
    const size_t blank = rest.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(blank + 1);
  }
  uint64_t start = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), start);
  if (error != std::errc() || end == rest.data() + rest.size() || *end != ' ') return std::nullopt;
  return start;
}

Result<std::optional<Process>> open_process(pid_t pid) {
  constexpr size_t kStatLimit = 4096;
  // glibc 2.36 has a wrapper, but its header conflicts with that of clone(2).
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.valid()) {
    if (errno == ESRCH || errno == EINVAL)
      return std::optional<Process>();  // EINVAL: the id of a thread, or not positive
    return fail(ErrorCode::Hardware, "cannot watch a process",
                "pidfd_open " + std::to_string(pid) + ": " + errno_text());
  }
  // Read while the descriptor is open: until the process exits its number is not reused.
  const Result<std::optional<std::string>> stat = read_file("/proc/" + std::to_string(pid) + "/stat", kStatLimit);
  if (has_ended(fd.get())) return std::optional<Process>();
  if (!stat) return Failure(stat.error());
  const std::optional<uint64_t> start = start_in(stat->value_or(""));
  if (!start)
    return fail(ErrorCode::Hardware, "cannot read the start time of a process", "/proc/" + std::to_string(pid));
  return Process{.fd = std::move(fd), .start = *start};
}

}  // namespace nrd
