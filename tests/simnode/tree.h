// What a mounted tree of files must be able to answer. Paths are relative to the tree, without a leading slash; ""
// is its root. Acts answer 0 or an errno.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nrd::simnode {

class Tree {
 public:
  virtual ~Tree() = default;
  virtual std::optional<mode_t> mode(const std::string& path) = 0;  // nullopt: no such file
  virtual std::vector<std::string> list(const std::string& folder) = 0;
  virtual int read(const std::string& path, std::string& content) = 0;
  virtual int write(const std::string& path, std::string_view text, pid_t writer) = 0;
  virtual int make_folder(const std::string& path, pid_t writer) = 0;
  virtual int remove_folder(const std::string& path, pid_t writer) = 0;
};

}  // namespace nrd::simnode
