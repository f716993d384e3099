#include "hw/onload/user_files.h"

#include <unistd.h>

#include <cerrno>

#include "base/errno_text.h"

namespace nrd::onload {

std::string tree_of_version(const std::string& versions, const std::string& name) {
  return versions + "/versions/" + name;
}

Result<std::vector<std::string>> find_libraries(const Trust& trust, const std::string& versions,
                                                const std::string& name) {
  constexpr size_t kFilesLimit = 4096;
  for (const std::string_view place : kLibraryFolders) {
    const std::string path = tree_of_version(versions, name) + "/" + std::string(place);
    const std::optional<TrustedDir> folder = TRY(if_found(TrustedDir::open(trust, path)));
    if (!folder) continue;
    const std::vector<std::string> names = TRY(folder->names(kFilesLimit));
    const std::optional<UniqueFd> library = TRY(if_found(folder->file(kLibraryFile)));
    if (!library) continue;
    std::vector<std::string> found{path + "/" + std::string(kLibraryFile)};
    for (const std::string& file : names) {
      const bool belongs = file.starts_with("libonload.so.") || file.starts_with("libonload_ext.so");
      if (belongs && folder->file(file)) found.push_back(path + "/" + file);
    }
    return found;
  }
  return std::vector<std::string>();
}

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
