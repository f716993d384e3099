// The directory of one process in /proc, held open, so that all that is read is about the same process: once it is gone
// the kernel answers ESRCH, even if a new one has its number (Documentation/filesystems/proc.rst).
//
// Gone is an answer here (nullopt), not a failure. Files are looked at through links without opening what they lead to.
// Engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "hw/onload/types.h"

namespace nrd::onload {

struct ProcessStatus {
  ProcessId id;
  std::string comm;
  char state = '?';  // Z: its first thread has ended; others may go on
  friend bool operator==(const ProcessStatus&, const ProcessStatus&) = default;
};

// "4711 (feed handler) S 1 ...": the name is between the first "(" and the last ")", whatever is in it.
std::optional<ProcessStatus> parse_process_status(std::string_view stat);

// What a link leads to.
struct LinkTarget {
  std::optional<DeviceNumber> character_device;
  std::optional<uid_t> owner;  // of a regular file; nullopt: it is none, or the file system does not say
};

class ProcessDir {
 public:
  // nullopt: there is no such process.
  static Result<std::optional<ProcessDir>> open(const std::string& root, pid_t pid);
  // One of its threads ("task/4712"). nullopt: it is gone.
  Result<std::optional<ProcessDir>> open_below(const std::string& directory) const;

  // The whole content of a file of at most `limit` bytes; more is a failure.
  Result<std::optional<std::string>> read(const std::string& file, size_t limit) const;
  // Each line without its end, as it comes: a file of any length takes no more memory than its longest line, which is a
  // failure beyond 64 KiB, as is a last line without an end. False: the file is gone, maybe in the middle.
  Result<bool> each_line(const std::string& file, const std::function<Result<void>(std::string_view)>& line) const;
  // Names in a directory, in order and at most `limit`; more is a failure. nullopt: gone.
  Result<std::optional<std::vector<std::string>>> list(const std::string& directory, size_t limit) const;
  // The text of a link ("/dev/onload", "onload:[tcp:1:2]", "/usr/bin/feed (deleted)").
  Result<std::optional<std::string>> link(const std::string& file) const;
  // What is behind a link, without opening it and without asking a server for it.
  Result<std::optional<LinkTarget>> target(const std::string& file) const;
  // Whom it belongs to.
  Result<std::optional<uid_t>> owner() const;

  Result<std::optional<ProcessStatus>> status() const;

 private:
  ProcessDir(UniqueFd directory, std::string path) : directory_(std::move(directory)), path_(std::move(path)) {}
  static Result<std::optional<ProcessDir>> open_at(int at, const std::string& name, std::string path);
  Failure unreadable(const std::string& file, int error) const;

  UniqueFd directory_;
  std::string path_;  // for the journal
};

}  // namespace nrd::onload
