// Files that say who may do what, and so are read only if nobody but root could have written them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd::auth {

// A regular file (no link) of root's that neither its group nor others can write, whole. BadRequest that names the file
// and what is wrong with it.
Result<std::string> read_roots_file(const std::string& path, size_t limit);

// A folder of which the same is true.
class RootOwnedDir {
 public:
  static Result<RootOwnedDir> open(const std::string& path);

  // Names in it, in order, but for those that begin with a dot. BadRequest if there are more than `limit`.
  Result<std::vector<std::string>> names(size_t limit) const;
  Result<std::string> read(const std::string& name, size_t limit) const;

 private:
  RootOwnedDir(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
};

}  // namespace nrd::auth
