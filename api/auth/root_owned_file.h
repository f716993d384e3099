// Files with access rules; accepted only if no user but root can write them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd::auth {

// Reads a regular file (no symlink) owned by root and not writable by group or others. BadRequest names the file and
// the reason.
Result<std::string> read_roots_file(const std::string& path, size_t limit);

// A folder with the same requirements.
class RootOwnedDir {
 public:
  static Result<RootOwnedDir> open(const std::string& path);

  // Sorted names, without those that begin with a dot. BadRequest if there are more than `limit`.
  Result<std::vector<std::string>> names(size_t limit) const;
  Result<std::string> read(const std::string& name, size_t limit) const;

 private:
  RootOwnedDir(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
};

}  // namespace nrd::auth
