#include "base/log.h"

// Without this, each line would contain a path of the build machine.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "base/control.h"
#include "base/hex.h"
#include "base/message_ids.h"
#include "base/utf8.h"

namespace nrd::log {
namespace {

std::atomic<Priority> lowest_priority{Priority::Info};

// journalctl prints "[87B blob data]" instead of a text with control characters, also those above U+007F, or with bytes
// that are not UTF-8.
std::string escaped(std::string_view text) {
  constexpr size_t kLongest = 2048;  // bytes of `text`
  std::string safe;
  for (text = text.substr(0, kLongest); !text.empty();) {
    const size_t length = control_length(text) > 0 ? 0 : first_code_point(text).length;
    const std::string_view next = text.substr(0, std::max<size_t>(length, 1));
    safe += length > 0 ? std::string(next) : "\\x" + hex_of(next);
    text.remove_prefix(next.size());
  }
  return safe;
}

// "FREQUENCY_NOT_RESTORED: cannot restore CPU frequency; will retry CPU=5"
std::string line_of(std::string_view id, std::string_view text, std::span<const Field> fields) {
  std::string line = fmt::format("{}: {}", id, escaped(text));
  for (const auto& [name, value] : fields) {
    if (!value.empty()) line += fmt::format(" {}={}", name, escaped(value));
  }
  return line;
}

void to_journal(Priority priority, std::string_view id, const std::string& text, std::span<const Field> fields) {
  std::vector<std::string> lines{fmt::format("PRIORITY={}", static_cast<int>(priority)), "MESSAGE=" + text,
                                 "NRD_MESSAGE=" + std::string(id), "SYSLOG_IDENTIFIER=nrd"};
  if (const auto known = message_id_of(id); !known.empty()) lines.push_back("MESSAGE_ID=" + std::string(known));
  for (const auto& [name, value] : fields) lines.push_back("NRD_" + std::string(name) + "=" + escaped(value));
  std::vector<iovec> parts;
  for (std::string& line : lines) parts.push_back({line.data(), line.size()});
  ::sd_journal_sendv(parts.data(), static_cast<int>(parts.size()));
}

void to_stderr(Priority priority, std::string line) {
  constexpr const char* kNames[] = {"emerg", "alert", "crit", "error", "warning", "notice", "info", "debug"};
  line = fmt::format("nrd {} {}\n", kNames[static_cast<int>(priority)], line);
  // One write, so that lines of different threads do not mix. If stderr is gone, the failure cannot be reported.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void set_lowest(Priority lowest) { lowest_priority = lowest; }

// systemd sets JOURNAL_STREAM to device and inode of the stream (systemd.exec(5)). A child with another stderr inherits
// it.
bool goes_to_journal() {
  static const bool yes = [] {
    const char* stream = ::getenv("JOURNAL_STREAM");
    struct stat found {};
    return stream != nullptr && ::fstat(STDERR_FILENO, &found) == 0 &&
           fmt::format("{}:{}", found.st_dev, found.st_ino) == stream;
  }();
  return yes;
}

void write(Priority priority, std::string_view id, std::string_view text, std::span<const Field> fields, Shown shown) {
  if (priority > lowest_priority.load()) return;
  if (goes_to_journal()) {
    to_journal(priority, id, line_of(id, text, shown == Shown::Text ? std::span<const Field>() : fields), fields);
  } else {
    to_stderr(priority, line_of(id, text, fields));
  }
}

}  // namespace nrd::log
