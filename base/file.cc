#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/errno_text.h"
#include "base/unique_fd.h"

namespace nrd {
namespace {

Failure unreadable(const std::string& path, int error) {
  return fail(ErrorCode::Hardware, "cannot read a kernel file", errno_text(path, error));
}

enum class Until { End, LineEnd };

Result<std::optional<std::string>> read_until(Until until, const std::string& path, size_t limit) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.valid()) {
    // ENODEV and ENOTDIR: a CPU was removed between listing and reading its directory.
    if (errno == ENOENT || errno == ENOTDIR || errno == ENODEV) return std::nullopt;
    return unreadable(path, errno);
  }
  std::string text;
  std::array<char, 4096> block;
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == ENODEV || errno == ENOENT)) return std::nullopt;  // removed since it was opened
    if (got < 0) return unreadable(path, errno);
    if (got == 0) return text;
    text.append(block.data(), static_cast<size_t>(got));
    if (text.size() > limit) return unreadable(path, EFBIG);
    if (until == Until::LineEnd && text.ends_with('\n')) return text;
  }
}

}  // namespace

Result<std::optional<std::string>> read_file(const std::string& path, size_t limit) {
  return read_until(Until::End, path, limit);
}

Result<std::optional<std::string>> read_one_line(const std::string& path) {
  return read_until(Until::LineEnd, path, kFileLimit);
}

Result<std::optional<CpuSet>> read_cpu_list(const std::string& path) {
  const std::optional<std::string> text = TRY(read_one_line(path));
  if (!text) return std::nullopt;
  const std::string_view list = trimmed(*text);
  Result<CpuSet> cpus = list.empty() ? CpuSet() : CpuSet::parse(list);
  if (cpus && text->ends_with('\n')) return *std::move(cpus);
  return fail(ErrorCode::Hardware, "unexpected list in " + path, "\"" + text->substr(0, 80) + "\"");
}

tl::expected<void, int> write_value(const std::string& path, std::string_view value, int flags) {
  const UniqueFd file(::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY));
  if (!file.valid()) return tl::unexpected(errno);
  ssize_t put = -1;
  do {
    put = ::write(file.get(), value.data(), value.size());
  } while (put < 0 && errno == EINTR);
  if (put < 0) return tl::unexpected(errno);
  if (static_cast<size_t>(put) != value.size()) return tl::unexpected(EIO);
  return {};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace nrd
