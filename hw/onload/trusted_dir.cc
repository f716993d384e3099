#include "hw/onload/trusted_dir.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/control.h"
#include "base/directory.h"
#include "base/errno_text.h"

namespace nrd::onload {
namespace {

constexpr size_t kNameLimit = 255;

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameLimit && name != "." && name != ".." && without_controls(name) == name;
}

Failure untrusted(const std::string& what, const std::string& path) { return fail(ErrorCode::BadRequest, what, path); }

Failure unopened(const std::string& path, int error) {
  const std::string detail = errno_text(path, error);
  if (error == ENOENT) return fail(ErrorCode::NotFound, "file or directory not found", detail);
  if (error == ENOTDIR)
    return untrusted("a path component is not a directory (symbolic links are not followed)", detail);
  if (error == ELOOP) return untrusted("not a regular file (symbolic links are not followed)", detail);
  return fail(ErrorCode::Hardware, "cannot open a file or directory", detail);
}

// Of an opened file or directory. BadRequest: it is not trusted.
Result<struct stat> trusted_status(int fd, const Trust& trust, const std::string& path) {
  struct stat what = {};
  if (::fstat(fd, &what) != 0) return unopened(path, errno);
  if (what.st_uid != trust.owner) return untrusted("a file or directory is not owned by root", path);
  if ((what.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return untrusted("a file or directory is writable by users other than root", path);
  }
  return what;
}

}  // namespace

Result<std::vector<std::string>> parts_of(std::string_view relative) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t slash = relative.find('/');
    const std::string_view part = relative.substr(0, slash);
    if (!is_name(part)) {
      return fail(ErrorCode::BadRequest, "invalid path; expected names separated by \"/\", without \".\" and \"..\"");
    }
    if (parts.size() == kDepthLimit) {
      return fail(ErrorCode::BadRequest, fmt::format("a path can have at most {} components", kDepthLimit));
    }
    parts.emplace_back(part);
    if (slash == std::string_view::npos) return parts;
    relative.remove_prefix(slash + 1);
  }
}

Result<TrustedDir> TrustedDir::open(const Trust& trust, std::string_view path) {
  if (!path.starts_with('/')) return fail(ErrorCode::BadRequest, "the path must begin with \"/\"");
  UniqueFd fd(::open(trust.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return unopened(trust.root, errno);
  TRY(trusted_status(fd.get(), trust, trust.root));
  TrustedDir root(trust, trust.root == "/" ? "" : trust.root, std::move(fd));
  path.remove_prefix(1);
  if (path.empty()) return root;
  return root.dir(path);
}

Result<TrustedDir> TrustedDir::step(const std::string& name) const {
  std::string path = path_ + "/" + name;
  UniqueFd fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return unopened(path, errno);
  TRY(trusted_status(fd.get(), trust_, path));
  return TrustedDir(trust_, std::move(path), std::move(fd));
}

Result<TrustedDir> TrustedDir::dir(std::string_view relative) const {
  const std::vector<std::string> parts = TRY(parts_of(relative));
  Result<TrustedDir> at = step(parts.front());
  for (size_t i = 1; at && i < parts.size(); ++i) at = at->step(parts[i]);
  return at;
}

Result<UniqueFd> TrustedDir::file(std::string_view relative) const {
  const size_t slash = relative.rfind('/');
  if (slash != std::string_view::npos) {
    const TrustedDir folder = TRY(dir(relative.substr(0, slash)));
    return folder.file(relative.substr(slash + 1));
  }
  const std::vector<std::string> name = TRY(parts_of(relative));
  const std::string path = path_ + "/" + name.front();
  // Check the type before opening: opening a device can have side effects. Only root can replace the file meanwhile,
  // and it is checked again after opening.
  struct stat what = {};
  if (::fstatat(fd_.get(), name.front().c_str(), &what, AT_SYMLINK_NOFOLLOW) != 0) return unopened(path, errno);
  if (!S_ISREG(what.st_mode)) return untrusted("not a regular file (symbolic links are not followed)", path);
  UniqueFd fd(::openat(fd_.get(), name.front().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) return unopened(path, errno);
  what = TRY(trusted_status(fd.get(), trust_, path));
  if (!S_ISREG(what.st_mode)) return untrusted("not a regular file (symbolic links are not followed)", path);
  return fd;
}

Result<TrustedDir> TrustedDir::make(std::string_view name) const {
  const std::vector<std::string> parts = TRY(parts_of(name));
  if (parts.size() != 1) return fail(ErrorCode::BadRequest, "expected a single path component");
  // 0755 regardless of the umask, so that applications can read their library.
  const bool made = ::mkdirat(fd_.get(), parts.front().c_str(), 0700) == 0;
  if (!made && errno != EEXIST) {
    // The sandbox of the unit needs the drop-in.
    const char* const why = errno == EROFS ? ": it is read-only for nrd, see the drop-in onload.conf" : "";
    return fail(ErrorCode::Store, std::string("cannot create a directory") + why,
                errno_text(path_ + "/" + parts.front()));
  }
  Result<TrustedDir> folder = step(parts.front());
  if (folder && made && ::fchmod(folder->fd(), 0755) != 0) return unopened(folder->path(), errno);
  return folder;
}

Result<std::vector<std::string>> TrustedDir::names(size_t limit) const {
  auto names = list_names(fd_.get(), limit);
  if (names) return *std::move(names);
  if (names.error() != EFBIG) return unopened(path_, names.error());
  return fail(ErrorCode::BadRequest, fmt::format("a directory has more than {} entries", limit), path_);
}

Result<UniqueFd> open_trusted_file(const Trust& trust, std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return fail(ErrorCode::BadRequest, "the path must begin with \"/\"");
  const TrustedDir folder = TRY(TrustedDir::open(trust, slash == 0 ? "/" : path.substr(0, slash)));
  return folder.file(path.substr(slash + 1));
}

}  // namespace nrd::onload
