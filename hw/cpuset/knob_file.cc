#include "hw/cpuset/knob_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace nrd::cpuset {

std::optional<int> write_knob(const std::string& path, const std::string& value) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY));
  if (!file.valid()) return errno;
  const std::string line = value + "\n";
  for (;;) {
    const ssize_t put = ::write(file.get(), line.data(), line.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    // The kernel accepts a value only whole; do not send the rest as if it were another value.
    if (static_cast<size_t>(put) != line.size()) return EIO;
    return std::nullopt;
  }
}

}  // namespace nrd::cpuset
