#include "base/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/unique_fd.h"

namespace nrd {

tl::expected<std::vector<std::string>, int> list_names(int directory, size_t limit) {
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
    if (name == "." || name == "..") continue;
    if (names.size() == limit) return tl::unexpected(EFBIG);
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> names_in(const std::string& path, size_t limit) {
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return {};
  return list_names(directory.get(), limit).value_or(std::vector<std::string>());
}

}  // namespace nrd
