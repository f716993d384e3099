#include "base/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/unique_fd.h"

namespace nrd {
namespace {

// Some file systems do not report the type.
bool is_folder(int directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat status {};
  return ::fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

tl::expected<std::vector<std::string>, int> list_names(int directory, size_t limit, Entries which) {
  const int fd = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return tl::unexpected(errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd), &::closedir);  // owns fd
  if (!entries) {
    ::close(fd);
    return tl::unexpected(ENOMEM);
  }
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr && errno != 0) return tl::unexpected(errno);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || (which == Entries::Folders && !is_folder(directory, *entry))) continue;
    if (names.size() == limit) return tl::unexpected(EFBIG);
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

tl::expected<std::vector<std::string>, int> list_names(const std::string& path, size_t limit, Entries which) {
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return tl::unexpected(errno);
  return list_names(directory.get(), limit, which);
}

std::vector<std::string> names_in(const std::string& path, size_t limit) {
  return list_names(path, limit).value_or(std::vector<std::string>());
}

}  // namespace nrd
