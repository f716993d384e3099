// Writes a whole text to a descriptor.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <tl/expected.hpp>

namespace nrd {

// The errno on failure.
inline tl::expected<void, int> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return tl::unexpected(errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace nrd
