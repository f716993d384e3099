#include "hw/onload/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/control.h"
#include "base/errno_text.h"
#include "base/number.h"
#include "base/split.h"

namespace nrd::onload {
namespace {

constexpr size_t kRecordSize = 16384;  // the kernel's own limit is 8192 (CONSOLE_EXT_LOG_MAX)
constexpr uint64_t kKernel = 0;        // facility of syslog(3)

constexpr unsigned kErrorLevel = 3;
constexpr unsigned kNoticeLevel = 5;

// Tags of Onload's messages. The control plane server logs with its PID.
constexpr std::array<std::string_view, 4> kTags{"[sfc efrm] ", "[sfc efhw] ", "[onload] ", "[sfc_char] "};
constexpr std::string_view kServerTag = "onload_cp_server[";
// Refusals of the kernel that do not begin with the module's name.
constexpr std::array<std::string_view, 2> kRefusals{"Loading of ", "Lockdown: "};

Failure unreadable(const std::string& what, int error) {
  return fail(ErrorCode::Hardware, "cannot read the kernel log", errno_text(what, error));
}

}  // namespace

std::optional<LogLine> parse_record(std::string_view record) {
  const auto priority = parse_number<uint64_t>(take_until(record, ','));
  const auto sequence = parse_number<uint64_t>(take_until(record, ','));
  const auto time = parse_number<uint64_t>(take_until(record, ','));
  if (!priority || !sequence || !time) return std::nullopt;
  const size_t semicolon = record.find(';');
  const size_t end = record.find('\n');
  if (semicolon == std::string_view::npos || end == std::string_view::npos || end < semicolon) return std::nullopt;
  return LogLine{*sequence, (*priority >> 3) == kKernel, static_cast<unsigned>(*priority & 7),
                 without_controls(record.substr(semicolon + 1, end - semicolon - 1).substr(0, KernelLog::kTextLimit))};
}

bool is_about(const LogLine& line, const std::vector<std::string>& modules) {
  const std::string_view text = line.text;
  const auto begins = [text](std::string_view tag) { return text.starts_with(tag); };
  if (!line.by_kernel) return begins(kServerTag);
  if (std::ranges::any_of(kTags, begins)) return true;
  if (std::ranges::any_of(kRefusals, begins)) return true;
  // "onload: Unknown symbol ...", or of a device "sfc 0000:01:00.0: ...".
  return std::ranges::any_of(modules, [text](const std::string& name) {
    return text.starts_with(name) && text.size() > name.size() &&
           (text[name.size()] == ':' || text[name.size()] == ' ');
  });
}

bool is_error(const LogLine& line) {
  const auto begins = [&line](std::string_view tag) { return line.text.starts_with(tag); };
  return line.by_kernel && line.level <= kErrorLevel && std::ranges::any_of(kTags, begins) &&
         line.text.find("ERROR") != std::string::npos;
}

bool is_evidence(const LogLine& line) { return line.by_kernel && line.level <= kNoticeLevel; }

Result<KernelLog> KernelLog::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid() || ::lseek(fd.get(), 0, SEEK_END) < 0) return unreadable(path, errno);
  return KernelLog(std::move(fd));
}

Result<std::vector<LogLine>> KernelLog::read(const std::vector<std::string>& modules) {
  std::vector<LogLine> kept;
  std::array<char, kRecordSize> record;
  for (size_t records = 0; records < kRecordLimit; ++records) {
    const ssize_t got = ::read(fd_.get(), record.data(), record.size());
    if (got < 0 && errno == EAGAIN) break;
    // EPIPE: records were overwritten; the next read returns the oldest one left.
    if (got < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (got < 0) return unreadable("/dev/kmsg", errno);
    if (got == 0) break;
    std::optional<LogLine> line = parse_record({record.data(), static_cast<size_t>(got)});
    if (!line || !is_about(*line, modules)) continue;
    if (kept.size() == kKeptLimit) kept.erase(kept.begin());
    kept.push_back(*std::move(line));
  }
  return kept;
}

}  // namespace nrd::onload
