#include "api/auth/root_owned_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "base/directory.h"
#include "base/errno_text.h"

namespace nrd::auth {
namespace {

Failure wrong(const std::string& path, const std::string& problem) {
  return fail(ErrorCode::BadRequest, fmt::format("{}: {}", path, problem));
}

Failure wrong(const std::string& path, int error) { return wrong(path, errno_text(error)); }

// Checks the open file, so that replacing the path has no effect.
Result<void> check_owner(int fd, mode_t kind, const std::string& path) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return wrong(path, errno);
  if ((found.st_mode & S_IFMT) != kind) {
    return wrong(path, kind == S_IFDIR ? "not a directory" : "not a regular file");
  }
  if (found.st_uid != 0) return wrong(path, "must be owned by root");
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) return wrong(path, "must not be writable by group or others");
  return {};
}

Result<std::string> read_at(int folder, const std::string& name, const std::string& path, size_t limit) {
  // Non-blocking, so that open() does not hang on a FIFO.
  const UniqueFd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.valid())
    return errno == ELOOP ? wrong(path, "is a symbolic link; a regular file or directory is required")
                          : wrong(path, errno);
  TRY(check_owner(file.get(), S_IFREG, path));
  std::string text;
  std::array<char, 4096> block;
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return wrong(path, errno);
    if (got == 0) return text;
    text.append(block.data(), static_cast<size_t>(got));
    if (text.size() > limit) return wrong(path, fmt::format("larger than {} bytes", limit));
  }
}

}  // namespace

Result<std::string> read_roots_file(const std::string& path, size_t limit) {
  return read_at(AT_FDCWD, path, path, limit);
}

Result<RootOwnedDir> RootOwnedDir::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return wrong(path, errno);
  TRY(check_owner(fd.get(), S_IFDIR, path));
  return RootOwnedDir(path, std::move(fd));
}

Result<std::vector<std::string>> RootOwnedDir::names(size_t limit) const {
  constexpr size_t kMostHidden = 4096;
  auto names = list_names(fd_.get(), limit + kMostHidden);
  if (names) std::erase_if(*names, [](const std::string& name) { return name.starts_with('.'); });
  if (names ? names->size() > limit : names.error() == EFBIG)
    return wrong(path_, fmt::format("more than {} files", limit));
  if (!names) return wrong(path_, names.error());
  return *std::move(names);
}

Result<std::string> RootOwnedDir::read(const std::string& name, size_t limit) const {
  return read_at(fd_.get(), name, path_ + "/" + name, limit);
}

}  // namespace nrd::auth
