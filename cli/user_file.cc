#include "cli/user_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/errno_text.h"
#include "base/file.h"

namespace nrd::cli {

Result<std::optional<std::string>> read_user_file(const std::string& path, size_t limit) {
  return read_file(path, limit).map_error([](const Error& error) {
    return Error{.code = ErrorCode::BadRequest, .message = "cannot read " + error.detail};
  });
}

Result<std::string> read_standard_input(size_t limit) {
  std::string text;
  std::array<char, 4096> block;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return text;
    if (got > 0) text.append(block.data(), static_cast<size_t>(got));
    // What is cut off could be workloads that --prune would then delete.
    if (got < 0 || text.size() > limit) {
      return fail(ErrorCode::BadRequest, errno_text("cannot read standard input", got < 0 ? errno : EFBIG));
    }
  }
}

}  // namespace nrd::cli
