#include "hw/onload/staging.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/errno_text.h"
#include "base/joined.h"
#include "base/sha256.h"
#include "base/split.h"
#include "base/write_all.h"

namespace nrd::onload {
namespace {

constexpr int kLinkHops = 8;  // liba.so -> liba.so.1 -> liba.so.1.2

Failure not_stored(const std::string& path, int error) {
  return fail(ErrorCode::Store, "cannot store an Onload version", errno_text(path, error));
}

Failure refused(std::string_view path, const std::string& why) {
  return fail(ErrorCode::BadRequest, fmt::format("{} {}", path, why));
}

}  // namespace

NextBytes bytes_of(int fd) {
  return [fd](std::span<char> into) -> Result<size_t> {
    for (;;) {
      const ssize_t got = ::read(fd, into.data(), into.size());
      if (got >= 0) return static_cast<size_t>(got);
      if (errno == EINTR) continue;
      return fail(ErrorCode::Hardware, "cannot read a file", errno_text());
    }
  };
}

Staging::Staging(const TrustedDir& versions, TrustedDir tree, std::string name, const TreeLimits& limits)
    : versions_(versions), tree_(std::move(tree)), name_(std::move(name)), limits_(limits) {}

Staging::~Staging() {
  const bool is_moved_from = tree_.fd() < 0;
  std::error_code ignored;  // the next import removes leftovers
  if (is_unpublished_ && !is_moved_from) std::filesystem::remove_all(tree_.path(), ignored);
}

Result<Staging> Staging::begin(const TrustedDir& versions, const std::string& name, const TreeLimits& limits) {
  const std::string folder = std::string(kStagingPrefix) + name;
  std::error_code error;
  // By path: only root can change it.
  std::filesystem::remove_all(versions.path() + "/" + folder, error);
  if (error) return not_stored(versions.path() + "/" + folder, error.value());
  TrustedDir tree = TRY(versions.make(folder));
  return Staging(versions, std::move(tree), name, limits);
}

Result<void> Staging::check_new(const std::string& path) const {
  if (files_.contains(path) || folders_.contains(path) || links_.contains(path)) {
    return refused(path, "occurs twice");
  }
  if (files_.size() + folders_.size() + links_.size() >= limits_.entries) {
    return fail(ErrorCode::BadRequest, fmt::format("the tree has more than {} entries", limits_.entries));
  }
  return {};
}

Result<std::optional<TrustedDir>> Staging::make_folders(const std::vector<std::string>& parts, size_t count) {
  std::optional<TrustedDir> at;
  std::string path;
  for (size_t i = 0; i < count; ++i) {
    path += (i == 0 ? "" : "/") + parts[i];
    if (!folders_.contains(path)) {
      TRY(check_new(path));
    }
    TrustedDir folder = TRY(at ? at->make(parts[i]) : tree_.make(parts[i]));
    folders_.insert(path);
    at = std::move(folder);
  }
  return at;
}

Result<void> Staging::add_folder(std::string_view path) {
  const std::vector<std::string> parts = TRY(parts_of(path));
  TRY(make_folders(parts, parts.size()));
  return {};
}

Result<void> Staging::add_file(std::string_view path, bool executable, const NextBytes& next) {
  // Skip the manifest of an earlier import.
  if (path == kManifestName) return {};
  const std::vector<std::string> parts = TRY(parts_of(path));
  const std::string name(path);
  TRY(check_new(name));
  const std::optional<TrustedDir> folder = TRY(make_folders(parts, parts.size() - 1));
  std::string digest = TRY(write(folder ? folder->fd() : tree_.fd(), parts.back(), executable, next));
  files_.emplace(name, std::move(digest));
  if (executable) executables_.insert(name);
  return {};
}

Result<std::string> Staging::write(int folder, const std::string& name, bool executable, const NextBytes& next) {
  const UniqueFd file(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return not_stored(name, errno);
  Sha256 digest;
  std::vector<char> block(kCopyBytes);
  for (uint64_t size = 0;;) {
    const size_t got = TRY(next(block));
    if (got == 0) break;
    size += got;
    bytes_ += got;
    if (size > limits_.file) return refused(name, fmt::format("is larger than {} bytes", limits_.file));
    if (bytes_ > limits_.tree) {
      return fail(ErrorCode::BadRequest, fmt::format("the tree is larger than {} bytes", limits_.tree));
    }
    const std::string_view bytes(block.data(), got);
    if (const auto written = write_all(file.get(), bytes); !written) return not_stored(name, written.error());
    digest.add(bytes);
  }
  if (::fchmod(file.get(), executable ? 0755 : 0644) != 0) return not_stored(name, errno);
  return digest.take();
}

Result<void> Staging::add_link(std::string_view path, std::string_view target) {
  if (path == kManifestName) return {};
  std::vector<std::string> at = TRY(parts_of(path));
  const std::string name(path);
  TRY(check_new(name));
  at.pop_back();
  if (target.empty() || target.front() == '/') return refused(path, "is a symbolic link that points out of the tree");
  // Resolve by name: there are no links to directories that could change the meaning of "..".
  for (const std::string_view part : split(target, "/")) {
    if (part == ".") continue;
    if (part != "..") {
      at.emplace_back(part);
    } else if (at.empty()) {
      return refused(path, "is a symbolic link that points out of the tree");
    } else {
      at.pop_back();
    }
  }
  links_.emplace(name, joined(at, "/"));
  return {};
}

Result<void> Staging::add_hard_link(std::string_view path, std::string_view existing) {
  if (path == kManifestName) return {};
  const std::string from(existing);
  if (!files_.contains(from)) return refused(path, "is a hard link to a file that is not in the tree");
  const UniqueFd file = TRY(tree_.file(from));
  return add_file(path, executables_.contains(from), bytes_of(file.get()));
}

Result<void> Staging::complete() {
  const std::map<std::string, std::string> links = std::exchange(links_, {});
  for (const auto& [path, first] : links) {
    std::string target = first;
    for (int hop = 0; hop < kLinkHops && links.contains(target); ++hop) target = links.at(target);
    if (!files_.contains(target)) return refused(path, "is a symbolic link that does not point to a file in the tree");
    TRY(add_hard_link(path, target));
  }
  const std::string manifest = manifest_text(files_);
  std::string_view rest = manifest;
  const Result<std::string> wrote =
      write(tree_.fd(), std::string(kManifestName), false, [&rest](std::span<char> into) -> Result<size_t> {
        const size_t count = std::min(into.size(), rest.size());
        std::copy_n(rest.begin(), count, into.begin());
        rest.remove_prefix(count);
        return count;
      });
  if (!wrote) return Failure(wrote.error());
  return {};
}

Result<void> Staging::publish() {
  // Syncs the whole tree; reports write errors since Linux 5.8.
  if (::syncfs(tree_.fd()) != 0) return not_stored(tree_.path(), errno);
  const std::string folder = std::string(kStagingPrefix) + name_;
  if (::renameat2(versions_.fd(), folder.c_str(), versions_.fd(), name_.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) return fail(ErrorCode::BadRequest, fmt::format("version {} already exists", name_));
    return not_stored(tree_.path(), errno);
  }
  is_unpublished_ = false;
  if (::fsync(versions_.fd()) != 0) return not_stored(versions_.path(), errno);
  return {};
}

}  // namespace nrd::onload
