#include "hw/onload/process_dir.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/directory.h"
#include "base/errno_text.h"
#include "base/number.h"
#include "hw/onload/kernel_file.h"

namespace nrd::onload {
namespace {

constexpr size_t kStatLimit = 4096;
constexpr size_t kStatusLimit = size_t{1} << 20;  // up to 65,536 groups

bool is_gone(int error) { return error == ENOENT || error == ESRCH || error == ENOTDIR; }

}  // namespace

Failure ProcessDir::unreadable(const std::string& file, int error) const {
  constexpr std::string_view kProc = "/proc/";
  return fail(ErrorCode::Hardware, "cannot inspect process " + path_.substr(path_.rfind(kProc) + kProc.size()),
              errno_text(path_ + "/" + file, error));
}

Result<std::optional<ProcessDir>> ProcessDir::open_at(int at, const std::string& name, std::string path) {
  UniqueFd directory(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  const int error = errno;
  ProcessDir opened(std::move(directory), std::move(path));
  if (opened.directory_.valid()) return opened;
  if (is_gone(error)) return std::nullopt;
  return opened.unreadable(".", error);
}

Result<std::optional<ProcessDir>> ProcessDir::open(const std::string& root, pid_t pid) {
  const std::string path = fmt::format("{}/proc/{}", root, pid);
  return open_at(AT_FDCWD, path, path);
}

Result<std::optional<ProcessDir>> ProcessDir::open_below(const std::string& directory) const {
  return open_at(directory_.get(), directory, path_ + "/" + directory);
}

Result<bool> ProcessDir::each_block(const std::string& file, const EachText& block) const {
  const UniqueFd opened(::openat(directory_.get(), file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY));
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t got = opened.valid() ? ::read(opened.get(), bytes.data(), bytes.size()) : -1;
    if (got == 0) return true;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return is_gone(errno) ? Result<bool>(false) : unreadable(file, errno);
    TRY(block({bytes.data(), static_cast<size_t>(got)}));
  }
}

Result<std::optional<std::string>> ProcessDir::read(const std::string& file, size_t limit) const {
  std::string text;
  const bool is_there = TRY(each_block(file, [&](std::string_view block) {
    text += block;
    return text.size() > limit ? unreadable(file, EFBIG) : Result<void>();
  }));
  return is_there ? std::optional(std::move(text)) : std::nullopt;
}

Result<bool> ProcessDir::each_line(const std::string& file, const EachText& line) const {
  constexpr size_t kLongestLine = size_t{64} << 10;  // a path of 4096 bytes, each escaped as four
  std::string rest;
  const bool is_there = TRY(each_block(file, [&](std::string_view block) -> Result<void> {
    rest += block;
    size_t begin = 0;
    for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      TRY(line(std::string_view(rest).substr(begin, end - begin)));
      begin = end + 1;
    }
    rest.erase(0, begin);
    return rest.size() > kLongestLine ? unreadable(file, EFBIG) : Result<void>();
  }));
  if (!is_there || rest.empty()) return is_there;
  return unexpected("a file of a process", path_ + "/" + file, rest);
}

Result<std::vector<std::string>> ProcessDir::list(const std::string& directory, size_t limit) const {
  const UniqueFd opened(::openat(directory_.get(), directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  auto names = opened.valid() ? list_names(opened.get(), limit) : tl::unexpected(errno);
  if (names) return *std::move(names);
  if (is_gone(names.error())) return std::vector<std::string>();
  return unreadable(directory, names.error());
}

Result<std::optional<std::string>> ProcessDir::link(const std::string& file) const {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(directory_.get(), file.c_str(), text.data(), text.size());
  if (size >= 0) return std::string(text.data(), static_cast<size_t>(size));
  if (is_gone(errno)) return std::nullopt;
  // Deeper than PATH_MAX: not a device of Onload.
  if (errno == ENAMETOOLONG) return std::string();
  return unreadable(file, errno);
}

Result<std::optional<LinkTarget>> ProcessDir::target(const std::string& file) const {
  struct statx status {};
  // Cached attributes only: a network or FUSE file system that does not respond would block nrd. The empty mask avoids
  // asking FUSE, which may refuse even root (fs/fuse/dir.c); stx_mask shows what the kernel returned anyway.
  constexpr int kFlags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
  if (::statx(directory_.get(), file.c_str(), kFlags, 0, &status) != 0) {
    if (is_gone(errno)) return std::nullopt;
    return unreadable(file, errno);
  }
  if ((status.stx_mask & STATX_TYPE) == 0) return LinkTarget{};
  if (S_ISREG(status.stx_mode) && (status.stx_mask & STATX_UID) != 0) {
    return LinkTarget{.character_device = {}, .owner = status.stx_uid};
  }
  if (!S_ISCHR(status.stx_mode)) return LinkTarget{};
  return LinkTarget{.character_device = DeviceNumber{status.stx_rdev_major, status.stx_rdev_minor}, .owner = {}};
}

Result<std::optional<uid_t>> ProcessDir::owner() const {
  const std::optional<std::string> text = TRY(read("status", kStatusLimit));
  if (!text) return std::nullopt;
  // "Uid:\treal\teffective\tsaved\tfile system". The directory of a non-dumpable process is owned by root.
  for (const std::string_view line : lines_of(*text).value_or(std::vector<std::string_view>{})) {
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() < 3 || fields[0] != "Uid:") continue;
    if (const auto uid = parse_number<uid_t>(fields[2])) return *uid;
  }
  return unexpected("the state of a process", path_ + "/status", *text);
}

Result<std::optional<TaskStat>> ProcessDir::status() const {
  const std::optional<std::string> text = TRY(read("stat", kStatLimit));
  if (!text) return std::nullopt;
  std::optional<TaskStat> status = parse_task_stat(*text);
  if (!status) return unexpected("the state of a process", path_ + "/stat", *text);
  return status;
}

}  // namespace nrd::onload
