#include "cli/new_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/errno_text.h"
#include "base/unique_fd.h"
#include "base/write_all.h"

namespace nrd::cli {
namespace {

constexpr mode_t kDirectoryMode = 0700;
constexpr const char* kBeside = ".new";  // suffix of replacements until all of them are written

Failure failed(const std::string& path, int error) {
  return fail(ErrorCode::Store, fmt::format("{}: {}; no files were created", path, errno_text(error)));
}

// The directory and the files created so far; removed again unless `keep` is reached.
class Attempt {
 public:
  explicit Attempt(std::string directory) : path_(std::move(directory)) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt() {
    if (is_kept_) return;
    for (const std::string& name : made_) ::unlinkat(directory_.get(), name.c_str(), 0);
    if (is_new_) ::rmdir(path_.c_str());
  }

  Result<void> enter() {
    is_new_ = ::mkdir(path_.c_str(), kDirectoryMode) == 0;
    if (!is_new_ && errno != EEXIST) return failed(path_, errno);
    directory_ = UniqueFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!directory_.valid() || ::fstat(directory_.get(), &status) != 0) return failed(path_, errno);
    // A user with write access to the directory could replace the key.
    if (status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
    return fail(ErrorCode::Store, path_ + ": writable by other users; choose a directory that only you can write to");
  }

  Result<void> refuse_existing(const std::string& name) const {
    const std::string path = path_ + "/" + name;
    struct stat status {};
    const bool exists = ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists) return fail(ErrorCode::Store, path + " already exists; move it or choose another directory");
    return errno == ENOENT ? Result<void>() : failed(path, errno);
  }

  Result<void> write(const NewFile& wanted) {
    const std::string path = path_ + "/" + wanted.name;
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const UniqueFd file(::openat(directory_.get(), wanted.name.c_str(), flags, wanted.mode));
    if (!file.valid()) return failed(path, errno);
    made_.push_back(wanted.name);
    if (!write_all(file.get(), wanted.content) || ::fsync(file.get()) != 0) return failed(path, errno);
    return {};
  }

  // If a directory has that name, it stays and the call fails; files replaced before stay replaced.
  Result<void> put_in_place(const std::string& name) {
    const std::string beside = name + kBeside;
    if (::renameat(directory_.get(), beside.c_str(), directory_.get(), name.c_str()) == 0) return {};
    return fail(ErrorCode::Store,
                fmt::format("{}/{}: {}; it and the files after it were not replaced", path_, name, errno_text()));
  }

  // Sync the names as well as the content, and the entry of a new directory in its parent.
  Result<void> keep() {
    if (::fsync(directory_.get()) != 0) return failed(path_, errno);
    const UniqueFd parent(::openat(directory_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (is_new_ && (!parent.valid() || ::fsync(parent.get()) != 0)) return failed(path_, errno);
    is_kept_ = true;
    return {};
  }

 private:
  std::string path_;
  UniqueFd directory_;
  bool is_new_ = false;
  bool is_kept_ = false;
  std::vector<std::string> made_;
};

}  // namespace

std::string absolute_path(const std::string& path) {
  std::error_code ignored;  // only if the current directory is gone, and then no file can be made either
  const std::filesystem::path whole = std::filesystem::absolute(path, ignored).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

Result<void> write_new_files(const std::string& directory, const std::vector<NewFile>& files, Existing existing) {
  Attempt attempt(directory);
  TRY(attempt.enter());
  const std::string suffix = existing == Existing::Replace ? kBeside : "";
  for (const NewFile& file : files) {
    TRY(attempt.refuse_existing(file.name + suffix));
  }
  for (const NewFile& file : files) {
    TRY(attempt.write({file.name + suffix, file.content, file.mode}));
  }
  if (existing == Existing::Replace) {
    for (const NewFile& file : files) {
      TRY(attempt.put_in_place(file.name));
    }
  }
  return attempt.keep();
}

}  // namespace nrd::cli
