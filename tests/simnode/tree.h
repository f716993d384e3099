// What a mounted tree of files must be able to answer. Paths are relative to the tree, without a leading slash; ""
// is its root. Acts answer 0 or an errno.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nrd::simnode {

// "a/b" and "cpu.max" of "a/b/cpu.max"; what lies in the root has the folder "".
struct FilePath {
  std::string folder, file;
};
inline FilePath split_path(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? FilePath{"", path} : FilePath{path.substr(0, slash), path.substr(slash + 1)};
}

class Tree {
 public:
  virtual ~Tree() = default;
  virtual std::optional<mode_t> mode(const std::string& path) = 0;  // nullopt: no such file
  // What open(2) answers when the file is there and its mode allows it.
  virtual int open(const std::string&) { return 0; }
  // Whether the file is one of 8-byte registers, whose position is the number of one, as /dev/cpu/N/msr. Then each of
  // them is read and written as a file below it, its number and value in hex: "0x1600" is in "…/msr/0x199".
  virtual bool has_registers(const std::string&) { return false; }
  virtual bool tells_types() { return true; }  // to readdir; else DT_UNKNOWN
  virtual std::vector<std::string> list(const std::string& folder) = 0;
  virtual int read(const std::string& path, std::string& content) = 0;
  virtual int write(const std::string& path, std::string_view text, pid_t writer) = 0;
  virtual int make_folder(const std::string&, pid_t) { return EPERM; }
  virtual int remove_folder(const std::string&, pid_t) { return EPERM; }

  std::optional<mode_t> resctrl_permissions;  // of resctrl's root, if chmod(2) has set some since it was mounted
};

}  // namespace nrd::simnode
