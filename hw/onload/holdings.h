// What one process holds of Onload: open devices and sockets, mappings of devices, and the library.
//
// Devices are known by their number and not by name, so that they are seen through bind mounts and in containers.
// Sockets of Onload are files of a file system of its own, which shows in their links as "onload:[tcp:3:17]": kind,
// stack and socket. A mapping keeps a device in use after its descriptor is closed, so mappings are looked at as well.
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

struct Holdings {
  std::vector<OpenFile> files;
  std::set<Held> mapped;
  std::set<uint32_t> stacks;
  std::optional<Library> library;
  bool empty() const { return files.empty() && mapped.empty() && !library; }
  friend bool operator==(const Holdings&, const Holdings&) = default;
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
// libonload.so under any of its names, but not libonload_ext.so, which does nothing without it.
bool is_library(std::string_view path);

// How much is looked at before it is called too much. Beyond it the answer is a failure, never a part.
struct WalkLimits {
  size_t processes = 1 << 18;
  size_t files = 1 << 22;                 // open files of all processes together
  size_t maps_bytes = size_t{128} << 20;  // /proc/PID/maps of one process
};

class Holder {
 public:
  Holder(std::map<DeviceNumber, Held> devices, const WalkLimits& limits)
      : devices_(std::move(devices)), files_left_(limits.files), maps_bytes_(limits.maps_bytes) {}

  // What vanishes in the middle is not held any more and is left out.
  Result<Holdings> look_at(const ProcessDir& process, pid_t pid);

 private:
  Result<void> look_at_files(const ProcessDir& process, pid_t pid, Holdings& holdings);
  Result<void> look_at_mappings(const ProcessDir& process, Holdings& holdings);
  Result<std::optional<Held>> held_by_file(const ProcessDir& process, const std::string& fd, Holdings& holdings);
  Result<std::optional<Held>> held_by_mapping(const ProcessDir& process, const Mapping& mapping);

  const std::map<DeviceNumber, Held> devices_;
  size_t files_left_;
  const size_t maps_bytes_;
  // Which mapped files are no devices. Most processes map the same libraries; each is asked for once.
  std::set<std::pair<uint64_t, std::string>> plain_;
};

}  // namespace nrd::onload
