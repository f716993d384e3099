// What the kernel says while modules are loaded and removed, from /dev/kmsg (Documentation/ABI/testing/dev-kmsg).
//
// Opening it at its end is the mark: what is read later was written after. One read gives one record, the next one
// after the last that was read:
//
//   3,1203,54060341,-;[sfc efrm] init_sfc_resource: ERROR: failed to find syscall table
//   |   |      |        text; what follows in lines of their own (" SUBSYSTEM=pci") is not kept
//   |   |      microseconds since boot
//   |   sequence number
//   priority (low three bits) and who wrote it (the others; 0 is the kernel)
//
// Kept are the lines of Onload and those that name a module of interest; their number is bounded, and so is the time,
// since nothing here waits. Any thread.
//
// Users write into this log, too: the kernel names a program that crashes, by the name that it gave itself and at the
// front of the line ("[onload] ERROR:[4711]: segfault at 0 ..."). So a tag counts at the front of a line only, what a
// program wrote itself is never the kernel's, and conclusions are drawn by the level as well: crashes are of level 6.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd::onload {

struct LogLine {
  uint64_t sequence = 0;
  bool by_kernel = false;  // false: somebody wrote it into /dev/kmsg, which takes root
  unsigned level = 7;      // as syslog(3) has them: 3 error, 4 warning, 5 notice, 6 info
  std::string text;
  friend bool operator==(const LogLine&, const LogLine&) = default;
};

// nullopt: this is no record. Control characters become "?", so that the text can be shown anywhere.
std::optional<LogLine> parse_record(std::string_view record);

// Whether it is about Onload, its control plane or one of these modules.
bool is_about(const LogLine& line, const std::vector<std::string>& modules);

// Whether it says that Onload met an error. All of its kernel messages are of level 3 (ci_log, EFRM_ERR), and name it
// so.
bool is_error(const LogLine& line);
// Whether a cause may be taken from it: by the kernel, and a notice at least.
bool is_evidence(const LogLine& line);

class KernelLog {
 public:
  static constexpr size_t kRecordLimit = 8192;  // that are read at once
  static constexpr size_t kKeptLimit = 64;
  static constexpr size_t kTextLimit = 512;

  // From now on.
  static Result<KernelLog> open(const std::string& path = "/dev/kmsg");
  // From the next record of `fd` on, which does not block.
  explicit KernelLog(UniqueFd fd) : fd_(std::move(fd)) {}

  // What was written since the last call, oldest first: the last kKeptLimit of those that is_about() keeps.
  Result<std::vector<LogLine>> read(const std::vector<std::string>& modules);

 private:
  UniqueFd fd_;
};

}  // namespace nrd::onload
