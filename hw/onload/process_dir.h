// The directory of one process in /proc. It stays open, so everything read from it is about the same process: once the
// process is gone, the kernel returns ESRCH, even if its PID is reused (Documentation/filesystems/proc.rst).
//
// A process that is gone is nullopt, not an error. Links are inspected without opening their targets. Controller
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "base/unique_fd.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// What the kernel appends to the path of a file whose name is gone.
inline constexpr std::string_view kDeleted = " (deleted)";

inline ProcessId identity_of(const TaskStat& stat) { return {stat.id, stat.start}; }

// The target of a link.
struct LinkTarget {
  std::optional<DeviceNumber> character_device;
  std::optional<uid_t> owner;  // of a regular file; nullopt: another type, or unknown
};

class ProcessDir {
 public:
  // nullopt: no such process.
  static Result<std::optional<ProcessDir>> open(const std::string& root, pid_t pid);
  // A thread ("task/4712"). nullopt: gone.
  Result<std::optional<ProcessDir>> open_below(const std::string& directory) const;

  // The content of a file; more than `limit` bytes is a failure.
  Result<std::optional<std::string>> read(const std::string& file, size_t limit) const;
  // Calls `line` for each line, without its line feed. Lines longer than 64 KiB and a truncated last line are failures.
  // False: the process is gone.
  using EachText = std::function<Result<void>(std::string_view)>;
  Result<bool> each_line(const std::string& file, const EachText& line) const;
  // Sorted names in a directory; more than `limit` is a failure. Empty: gone.
  Result<std::vector<std::string>> list(const std::string& directory, size_t limit) const;
  // The text of a link ("/dev/onload", "onload:[tcp:1:2]", "/usr/bin/feed (deleted)").
  Result<std::optional<std::string>> link(const std::string& file) const;
  // Inspects the target of a link without opening it or contacting a file server.
  Result<std::optional<LinkTarget>> target(const std::string& file) const;
  // The effective user ID.
  Result<std::optional<uid_t>> owner() const;

  Result<std::optional<TaskStat>> status() const;

 private:
  ProcessDir(UniqueFd directory, std::string path) : directory_(std::move(directory)), path_(std::move(path)) {}
  static Result<std::optional<ProcessDir>> open_at(int at, const std::string& name, std::string path);
  Failure unreadable(const std::string& file, int error) const;
  // Calls `block` for each part of the content. False: the process is gone.
  Result<bool> each_block(const std::string& file, const EachText& block) const;

  UniqueFd directory_;
  std::string path_;  // for errors
};

}  // namespace nrd::onload
