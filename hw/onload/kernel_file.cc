#include "hw/onload/kernel_file.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/directory.h"
#include "base/errno_text.h"
#include "base/file.h"

namespace nrd::onload {
namespace {

constexpr size_t kQuoted = 80;  // characters of a text in an error

Failure unreadable(const std::string& path, int error) {
  return fail(ErrorCode::Hardware, "cannot read a kernel directory", errno_text(path, error));
}

ErrorCode code_of(int error) {
  switch (error) {
    case EBUSY:
    case EALREADY: return ErrorCode::Busy;
    case EINVAL:
    case ERANGE: return ErrorCode::BadRequest;
    case ENOENT: return ErrorCode::NotFound;
    default: return ErrorCode::Hardware;
  }
}

}  // namespace

std::optional<std::vector<std::string_view>> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

Failure unexpected(const std::string& what, const std::string& path, std::string_view text) {
  return fail(ErrorCode::Hardware, "cannot parse " + what, fmt::format("{}: \"{}\"", path, text.substr(0, kQuoted)));
}

Result<std::optional<std::string>> read_line(const std::string& path) {
  Result<std::optional<std::string>> text = read_file(path, kLineLimit);
  if (!text || !*text) return text;
  if ((*text)->empty() || (*text)->find('\n') != (*text)->size() - 1) {
    return unexpected("a kernel file", path, **text);
  }
  (*text)->pop_back();
  return text;
}

Result<void> write_text(const std::string& path, std::string_view text, const std::string& refused) {
  const tl::expected<void, int> written = write_value(path, text);
  if (written) return {};
  return fail(code_of(written.error()), refused,
              fmt::format("{} <- \"{}\": {}", path, text.substr(0, kQuoted), errno_text(written.error())));
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  auto names = list_names(path, kEntryLimit);
  if (names) return *std::move(names);
  if (names.error() == ENOENT || names.error() == ENOTDIR || names.error() == ESRCH) {
    return std::vector<std::string>();
  }
  return unreadable(path, names.error());
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

std::optional<std::string> read_link(const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return std::nullopt;
  return std::string(target.data(), static_cast<size_t>(size));
}

std::string_view name_in(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace nrd::onload
