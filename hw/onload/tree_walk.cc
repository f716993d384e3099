#include "hw/onload/tree_walk.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/errno_text.h"

namespace nrd::onload {
namespace {

Failure failed(const std::string& path, int error) {
  const bool has_changed = error == ENOENT || error == ENOTDIR || error == ELOOP || error == EINVAL;
  if (has_changed) return fail(ErrorCode::BadRequest, "the tree changed while it was being read", path);
  return fail(ErrorCode::Hardware, "cannot read an Onload directory", errno_text(path, error));
}

Result<TreeEntry> entry_of(const TrustedDir& folder, const std::string& name, std::string path) {
  struct stat what = {};
  if (::fstatat(folder.fd(), name.c_str(), &what, AT_SYMLINK_NOFOLLOW) != 0) return failed(path, errno);
  TreeEntry entry{.path = std::move(path), .executable = S_ISREG(what.st_mode) && (what.st_mode & S_IXUSR) != 0};
  if (S_ISREG(what.st_mode)) return entry;
  if (S_ISDIR(what.st_mode)) {
    entry.kind = TreeEntry::Kind::Folder;
    return entry;
  }
  if (!S_ISLNK(what.st_mode)) {
    return fail(ErrorCode::BadRequest, entry.path + " is not a file, directory or link");
  }
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(folder.fd(), name.c_str(), target.data(), target.size());
  if (size < 0) return failed(entry.path, errno);
  entry.kind = TreeEntry::Kind::Link;
  entry.target.assign(target.data(), static_cast<size_t>(size));
  return entry;
}

// Lists one directory; `prefix` is its path with a trailing "/", or empty.
Result<void> list_folder(const TrustedDir& folder, const std::string& prefix, std::vector<TreeEntry>& entries) {
  for (const std::string& name : TRY(folder.names(kTreeLimit))) {
    if (entries.size() == kTreeLimit) {
      return fail(ErrorCode::BadRequest, fmt::format("the tree has more than {} entries", kTreeLimit));
    }
    TreeEntry entry = TRY(entry_of(folder, name, prefix + name));
    entries.push_back(std::move(entry));
  }
  return {};
}

}  // namespace

Result<std::vector<TreeEntry>> list_tree(const TrustedDir& top) {
  std::vector<TreeEntry> entries;
  TRY(list_folder(top, "", entries));
  // Breadth-first, without recursion; parts_of() limits the depth.
  for (size_t next = 0; next < entries.size(); ++next) {
    if (entries[next].kind != TreeEntry::Kind::Folder) continue;
    const std::string path = entries[next].path;
    const Result<TrustedDir> folder = top.dir(path);
    if (!folder) return fail_of(path, folder.error());
    TRY(list_folder(*folder, path + "/", entries));
  }
  return entries;
}

}  // namespace nrd::onload
