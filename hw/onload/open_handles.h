// Onload handles of one process: open devices and sockets, mapped devices, and the library.
//
// Devices are identified by number, not name, which works through bind mounts and in containers. Onload's sockets are
// files of its own file system, with links such as "onload:[tcp:3:17]": kind, stack and socket. A mapping keeps a
// device in use after its descriptor is closed, so mappings are searched too.
//
// Owners choose the names of mapped files, so names are not trusted: a library must be owned by root or, where the
// kernel has no link to the file (threads of an exited leader), be one of the KnownFiles. Handles missed this way hold
// no reference, or show up as unexplained (refcount_audit.h).
//
// Controller thread. One HandleScanner serves one search: it caches the mapped files it has seen.
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

enum class HandleKind { Stack, Epoll, Char, Socket };

struct OpenFile {
  pid_t pid = 0;  // of the process, or of a thread if the leader has exited
  int fd = 0;
  HandleKind kind = HandleKind::Stack;
  friend bool operator==(const OpenFile&, const OpenFile&) = default;
};

struct FileId {
  DeviceNumber file_system;
  uint64_t inode = 0;  // 0: no file
  friend auto operator<=>(const FileId&, const FileId&) = default;
};

struct Library {
  std::string path;
  bool deleted = false;
  FileId file;
  friend bool operator==(const Library&, const Library&) = default;
};

struct OpenHandles {
  std::vector<OpenFile> files;
  std::set<HandleKind> mapped;
  std::set<uint32_t> stacks;
  std::optional<Library> library;
  bool empty() const { return files.empty() && mapped.empty() && !library; }
  friend bool operator==(const OpenHandles&, const OpenHandles&) = default;
};

struct KnownFiles {
  std::map<FileId, HandleKind> nodes;  // in /dev
  std::optional<FileId> library;       // the installed libonload.so
};

struct Mapping {
  std::string range;  // "7f02d7425000-7f02d742f000"
  FileId file;
  std::string path;
  friend bool operator==(const Mapping&, const Mapping&) = default;
};

// One line of /proc/PID/maps, without its line feed. nullopt: malformed.
std::optional<Mapping> parse_mapping(std::string_view line);
bool is_onload_link(std::string_view link);
// The stack in the link of an Onload socket; nullopt: another format.
std::optional<uint32_t> parse_stack_link(std::string_view link);
// Has one of the file names of libonload.so. libonload_ext.so does nothing without it and does not count.
bool is_library(std::string_view path);

// Exceeding a limit is a failure; a partial result is never returned.
struct SearchLimits {
  size_t processes = 1 << 18;
  size_t files = 1 << 22;  // open files of all processes together
};

class HandleScanner {
 public:
  HandleScanner(std::map<DeviceNumber, HandleKind> devices, const SearchLimits& limits, KnownFiles known = {})
      : devices_(std::move(devices)), known_(std::move(known)), files_left_(limits.files) {}

  // Omits handles that are closed meanwhile.
  Result<OpenHandles> scan(const ProcessDir& process, pid_t pid);

 private:
  Result<void> scan_files(const ProcessDir& process, pid_t pid, OpenHandles& handles);
  Result<void> scan_mapping(const ProcessDir& process, Mapping mapping, OpenHandles& handles);
  Result<std::optional<HandleKind>> kind_of_file(const ProcessDir& process, const std::string& fd,
                                                 OpenHandles& handles);
  Result<std::optional<HandleKind>> kind_of_mapping(const ProcessDir& process, const Mapping& mapping);
  Result<bool> is_root_library(const ProcessDir& process, const Mapping& mapping) const;

  const std::map<DeviceNumber, HandleKind> devices_;
  const KnownFiles known_;
  size_t files_left_;
  // Mapped files that are not devices, with their paths: on some file systems (btrfs) several files have one inode
  // number. Most processes map the same libraries. Bounded, since users choose number and names of the files.
  std::set<std::pair<FileId, std::string>> other_files_;
};

}  // namespace nrd::onload
