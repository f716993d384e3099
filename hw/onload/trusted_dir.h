// The boundary between what root decided and what anybody could have put there.
//
// Kernel modules, their tools and the trees they come in are code that runs as root, so nrd takes them only from where
// nobody but root can write: every folder on the way from "/" is a folder (no link), belongs to root and can be written
// by nobody else. A sticky bit does not help: in /tmp anybody may create the name that comes next. ACLs need no look of
// their own, since what they grant shows in the bits of the group.
//
// Every step is opened below the descriptor of the step before (O_NOFOLLOW) and judged by what was opened, and what is
// handed out is that descriptor: a path is never looked up twice, so renaming things between check and use changes
// nothing. openat2(2) with RESOLVE_NO_SYMLINKS would take the same way in one call, but could not judge the folders.
//
//   const auto versions = TrustedDir::open({}, "/opt/nrd/onload/versions");
//   const auto file = versions->file("9.0.2/lib/modules/6.1.0-56-amd64/extra/onload.ko");   // a descriptor
//
// Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd::onload {

// Whom to trust. Folders above `root` are not looked at; the daemon has "/" and so looks at all of them.
struct Trust {
  std::string root = "/";
  uid_t owner = 0;
};

// The parts of "a/b/c". BadRequest unless each is a plain name: not empty, not "." or "..", no control characters, at
// most 255 bytes, at most kDepthLimit of them.
inline constexpr size_t kDepthLimit = 32;
Result<std::vector<std::string>> parts_of(std::string_view relative);

class TrustedDir {
 public:
  // `path` begins with "/", which stands for trust.root. NotFound if it is not there.
  static Result<TrustedDir> open(const Trust& trust, std::string_view path);

  // Below this one. NotFound if it is not there, BadRequest if it is not to be trusted or not what was asked for.
  Result<TrustedDir> dir(std::string_view relative) const;
  // A regular file, open for reading at its beginning.
  Result<UniqueFd> file(std::string_view relative) const;
  // The folder with this one name, made now (0755) or there before.
  Result<TrustedDir> make(std::string_view name) const;

  // Names without "." and "..", in order; at most `limit`.
  Result<std::vector<std::string>> names(size_t limit) const;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }  // for the journal
  const Trust& trust() const { return trust_; }

 private:
  TrustedDir(Trust trust, std::string path, UniqueFd fd)
      : trust_(std::move(trust)), path_(std::move(path)), fd_(std::move(fd)) {}
  Result<TrustedDir> step(const std::string& name) const;

  Trust trust_;
  std::string path_;
  UniqueFd fd_;
};

// A regular file by its path from "/", with the same demands.
Result<UniqueFd> open_trusted_file(const Trust& trust, std::string_view path);

}  // namespace nrd::onload
