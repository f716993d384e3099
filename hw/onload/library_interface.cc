#include "hw/onload/library_interface.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/errno_text.h"

namespace nrd::onload {

Result<bool> contains_text(int file, std::string_view text) {
  constexpr size_t kRead = 1 << 16;
  std::string window;  // the last block, after a tail of the one before: `text` may span both
  off_t at = 0;
  for (;;) {
    const size_t kept = window.size();
    window.resize(kept + kRead);
    const ssize_t count = ::pread(file, window.data() + kept, kRead, at);
    if (count < 0 && errno == EINTR) {
      window.resize(kept);
      continue;
    }
    if (count < 0) {
      return fail(ErrorCode::Store, "cannot read the library", errno_text());
    }
    if (count == 0) return false;
    at += count;
    window.resize(kept + static_cast<size_t>(count));
    if (window.find(text) != std::string::npos) return true;
    if (window.size() >= text.size()) window.erase(0, window.size() - (text.size() - 1));
  }
}

}  // namespace nrd::onload
