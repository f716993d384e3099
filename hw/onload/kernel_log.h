// Kernel messages written while modules are loaded and removed, from /dev/kmsg (Documentation/ABI/testing/dev-kmsg).
//
// Opening seeks to the end, so only later records are read, one per read(2):
//
//   3,1203,54060341,-;[sfc efrm] init_sfc_resource: ERROR: failed to find syscall table
//   |   |      |        text; continuation lines (" SUBSYSTEM=pci") are dropped
//   |   |      microseconds since boot
//   |   sequence number
//   priority: level in the low three bits, facility in the others (0 is the kernel)
//
// Lines about Onload and the modules of interest are kept, up to a limit. Nothing blocks. Any thread.
//
// Users can put text into the log: the kernel logs a crash with the name that the program chose, at the front of the
// line ("[onload] ERROR:[4711]: segfault at 0 ..."). So tags count only at the front, lines of other facilities are
// never the kernel's, and causes are taken from levels below 6 only, the level of crashes.
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
  bool by_kernel = false;  // false: root wrote it to /dev/kmsg
  unsigned level = 7;      // of syslog(3): 3 error, 4 warning, 5 notice, 6 info
  std::string text;
  friend bool operator==(const LogLine&, const LogLine&) = default;
};

// nullopt: not a record. Control characters become "?".
std::optional<LogLine> parse_record(std::string_view record);

// About Onload, its control plane or one of these modules.
bool is_about(const LogLine& line, const std::vector<std::string>& modules);

// An error of Onload. All of its kernel messages have level 3 (ci_log, EFRM_ERR), so "ERROR" must be in the text.
bool is_error(const LogLine& line);
// A cause may be taken from it: written by the kernel, with level notice or higher.
bool is_evidence(const LogLine& line);

class KernelLog {
 public:
  static constexpr size_t kRecordLimit = 8192;  // records per call
  static constexpr size_t kKeptLimit = 64;
  static constexpr size_t kTextLimit = 512;

  // Positions at the end of the log.
  static Result<KernelLog> open(const std::string& path = "/dev/kmsg");
  // Continues at the next record of `fd`, which is non-blocking.
  explicit KernelLog(UniqueFd fd) : fd_(std::move(fd)) {}

  // New records since the last call, oldest first: the last kKeptLimit that is_about() accepts.
  Result<std::vector<LogLine>> read(const std::vector<std::string>& modules);

 private:
  UniqueFd fd_;
};

}  // namespace nrd::onload
