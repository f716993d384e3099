// Access to files that only root could have written.
//
// Kernel modules, their tools and their trees run as root, so nrd takes them only from paths on which every component
// from "/" is a directory (no link), owned by root and writable by root alone. A sticky bit does not help: in /tmp
// anyone may create the next name. ACLs need no check, since they show in the group bits of the mode.
//
// Every component is opened below the descriptor of its parent (O_NOFOLLOW) and checked after opening, and callers get
// that descriptor: no path is resolved twice, so renames between check and use have no effect. openat2(2) with
// RESOLVE_NO_SYMLINKS would resolve the path in one call, but not check the directories.
//
//   const auto versions = TrustedDir::open({}, "/opt/nrd/onload/versions");
//   const auto file = versions->file("9.0.2/lib/modules/6.1.0-56-amd64/extra/onload.ko");   // a descriptor
//
// Any thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd::onload {

// The trusted owner. Directories above `root` are not checked; the daemon uses "/".
struct Trust {
  std::string root = "/";
  uid_t owner = 0;
};

// The components of "a/b/c". BadRequest unless each is a plain name: not empty, not "." or "..", no control characters,
// at most 255 bytes; at most kDepthLimit components.
inline constexpr size_t kDepthLimit = 32;
Result<std::vector<std::string>> parts_of(std::string_view relative);

// nullopt instead of NotFound.
template <typename T>
Result<std::optional<T>> if_found(Result<T> result) {
  if (result) return std::optional<T>(*std::move(result));
  if (result.error().code == ErrorCode::NotFound) return std::optional<T>();
  return Failure(std::move(result.error()));
}

// The error with `path` in front of its message.
inline Failure fail_of(const std::string& path, Error error) {
  error.message = path + ": " + error.message;
  return Failure(std::move(error));
}

class TrustedDir {
 public:
  // `path` is absolute, relative to trust.root. NotFound: no such directory.
  static Result<TrustedDir> open(const Trust& trust, std::string_view path);

  // A directory below this one. NotFound: no such directory. BadRequest: untrusted, or not a directory.
  Result<TrustedDir> dir(std::string_view relative) const;
  // A regular file, opened for reading.
  Result<UniqueFd> file(std::string_view relative) const;
  // Opens the directory `name`, and creates it (0755) if it is missing.
  Result<TrustedDir> make(std::string_view name) const;

  // Sorted names without "." and ".."; more than `limit` is a failure.
  Result<std::vector<std::string>> names(size_t limit) const;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }  // for errors
  const Trust& trust() const { return trust_; }

 private:
  TrustedDir(Trust trust, std::string path, UniqueFd fd)
      : trust_(std::move(trust)), path_(std::move(path)), fd_(std::move(fd)) {}
  Result<TrustedDir> step(const std::string& name) const;

  Trust trust_;
  std::string path_;
  UniqueFd fd_;
};

// A regular file by its absolute path, with the same checks.
Result<UniqueFd> open_trusted_file(const Trust& trust, std::string_view path);

}  // namespace nrd::onload
