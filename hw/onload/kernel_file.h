// Small files of the kernel, one value or one line each, below a directory that the caller names.
//
// The kernel ends what it says with a line end, so a text without one was cut off and is refused. What is gone is an
// answer (nullopt), not a failure: modules, interfaces and processes vanish while they are looked at. Engine thread.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/result.h"

namespace nrd::onload {

inline constexpr size_t kLineLimit = 4096;      // a file of sysfs is one page at most
inline constexpr size_t kEntryLimit = 1 << 20;  // entries of one directory

// The whole text is this number and nothing else.
template <typename Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What stands between blanks.
std::vector<std::string_view> words_of(std::string_view text);
// Lines without their ends; nullopt: the last one was cut off. An empty text has no lines.
std::optional<std::vector<std::string_view>> lines_of(std::string_view text);

// A text that is not what it should be, told to the client without its path.
Failure unexpected(std::string what, const std::string& path, std::string_view text);

// The one line of a file, without its end; may be empty. nullopt: there is no such file.
Result<std::optional<std::string>> read_line(const std::string& path);
// The text as it is, in one write. `refused` is what the client is told when the kernel does not take it; the kernel's
// reason stands in `detail`, and decides between Busy (EBUSY, EALREADY), BadRequest (EINVAL, ERANGE), NotFound (ENOENT)
// and Hardware.
Result<void> write_text(const std::string& path, std::string_view text, const std::string& refused);

// Names in a directory without "." and "..", in order. nullopt: there is no such directory.
Result<std::optional<std::vector<std::string>>> list_directory(const std::string& path);
// Whether anything is there; a link is not followed.
bool exists(const std::string& path);
// Where a link leads, as it says. nullopt: there is no such link, or it is none.
std::optional<std::string> read_link(const std::string& path);

// What stands behind the last "/".
std::string_view name_in(std::string_view path);

}  // namespace nrd::onload
