// What one process holds of Onload: open devices and sockets, mappings of devices, and the library.
//
// Devices are known by their number and not by name, so that they are seen through bind mounts and in containers.
// Sockets of Onload are files of a file system of its own, which shows in their links as "onload:[tcp:3:17]": kind,
// stack and socket. A mapping keeps a device in use after its descriptor is closed, so mappings are looked at as well.
//
// Names of mapped files are their owners' to choose, so none counts for what it says: a library is one if root owns the
// file, and where the kernel does not lead to the file any more (threads that outlived the first) it must be one of the
// KnownFiles. What is missed so holds no reference, or shows among those that nobody explains (references.h).
//
// Engine thread. One Holder is for one walk: it remembers which mapped files it has seen.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "hw/onload/process_dir.h"
#include "hw/onload/types.h"

namespace nrd::onload {

enum class Held { Stack, Epoll, Char, Socket };

struct OpenFile {
  pid_t pid = 0;  // of the process or, where that has ended before its threads, of the thread
  int fd = 0;
  Held held = Held::Stack;
  friend bool operator==(const OpenFile&, const OpenFile&) = default;
};

struct Library {
  std::string path;
  bool deleted = false;
  DeviceNumber file_system;
  uint64_t inode = 0;
  friend bool operator==(const Library&, const Library&) = default;
};

struct OpenHandles {
  std::vector<OpenFile> files;
  std::set<Held> mapped;
  std::set<uint32_t> stacks;
  std::optional<Library> library;
  bool empty() const { return files.empty() && mapped.empty() && !library; }
  friend bool operator==(const OpenHandles&, const OpenHandles&) = default;
};

// A file of this host, whatever it is called.
struct FileId {
  DeviceNumber file_system;
  uint64_t inode = 0;
  friend auto operator<=>(const FileId&, const FileId&) = default;
};

struct KnownFiles {
  std::map<FileId, Held> nodes;   // in /dev
  std::optional<FileId> library;  // the installed libonload.so
};

struct Mapping {
  std::string range;  // "7f02d7425000-7f02d742f000"
  DeviceNumber file_system;
  uint64_t inode = 0;  // 0: no file
  std::string path;
  friend bool operator==(const Mapping&, const Mapping&) = default;
};

// One line of /proc/PID/maps, without its end. nullopt: it is none.
std::optional<Mapping> parse_mapping(std::string_view line);
// The stack in the link of a socket; nullopt: it is of another form. Whether it is of Onload at all: is_onload_link().
std::optional<uint32_t> parse_stack_link(std::string_view link);
bool is_onload_link(std::string_view link);
// Called as libonload.so is under any of its names, but not libonload_ext.so, which does nothing without it.
bool is_library(std::string_view path);

// How much is looked at before it is called too much. Beyond it the answer is a failure, never a part.
struct WalkLimits {
  size_t processes = 1 << 18;
  size_t files = 1 << 22;  // open files of all processes together
};

class Holder {
 public:
  Holder(std::map<DeviceNumber, Held> devices, const WalkLimits& limits, KnownFiles known = {})
      : devices_(std::move(devices)), known_(std::move(known)), files_left_(limits.files) {}

  // What vanishes in the middle is not held any more and is left out.
  Result<OpenHandles> look_at(const ProcessDir& process, pid_t pid);

 private:
  Result<void> look_at_files(const ProcessDir& process, pid_t pid, OpenHandles& handles);
  Result<void> look_at_mapping(const ProcessDir& process, Mapping mapping, OpenHandles& handles);
  Result<std::optional<Held>> held_by_file(const ProcessDir& process, const std::string& fd, OpenHandles& handles);
  Result<std::optional<Held>> held_by_mapping(const ProcessDir& process, const Mapping& mapping);
  Result<bool> is_root_library(const ProcessDir& process, const Mapping& mapping) const;
  std::optional<Held> held_by_node(const Mapping& mapping) const;
  void remember(const Mapping& mapping, std::string name);

  const std::map<DeviceNumber, Held> devices_;
  const KnownFiles known_;
  size_t files_left_;
  // Which mapped files are no devices. Most processes map the same libraries; each is asked for once. Bounded: a user
  // may map as many files, with as long names, as the kernel lets him.
  std::set<std::pair<uint64_t, std::string>> plain_;
};

}  // namespace nrd::onload
