// A tree of files whose contents are known beforehand, such as sysfs and /proc here. It is a value computed from the
// machine; when the machine changes (hotplug, reboot) it is computed again, so nothing in it can be out of date.
// Paths have no leading slash; folders exist because something is in them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace nrd::simnode {

struct File {
  mode_t mode = 0;
  std::string content;                         // a symbolic link's target is its content
  std::function<int(std::string_view)> write;  // 0 or errno; empty: read-only
};

class FileMap {
 public:
  void add(const std::string& path, std::string content);
  void add_link(const std::string& path, std::string target);
  void add_writable(const std::string& path, std::string content, std::function<int(std::string_view)> write);

  const File* file(const std::string& path) const;
  const std::set<std::string>* folder(const std::string& path) const;

 private:
  void insert(const std::string& path, File file);

  std::map<std::string, File> files_;
  std::map<std::string, std::set<std::string>> folders_;
};

}  // namespace nrd::simnode
