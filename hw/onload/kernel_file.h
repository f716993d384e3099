// Small files of the kernel, with one value or line each, below a given root.
//
// The kernel ends its texts with a line feed, so one without is truncated and an error. A missing file is nullopt, not
// an error: modules, interfaces and processes disappear at any time. Controller thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/split.h"

namespace nrd::onload {

inline constexpr size_t kLineLimit = 4096;      // a sysfs file is at most one page
inline constexpr size_t kEntryLimit = 1 << 20;  // entries of one directory

// Splits at white space.
inline std::vector<std::string_view> fields_of(std::string_view text) { return split(text, " \t\r\n"); }
// Lines without line feeds; nullopt: the last one is truncated.
std::optional<std::vector<std::string_view>> lines_of(std::string_view text);

// "cannot parse `what`"; path and text go to the detail.
Failure unexpected(const std::string& what, const std::string& path, std::string_view text);

// What `parse` makes of the text of a file, of which it keeps nothing; nullopt from it is an error. nullopt: no such
// file.
template <typename Parse>
Result<std::invoke_result_t<Parse, std::string_view>> read_parsed(const std::string& path, size_t limit,
                                                                  const std::string& what, const Parse& parse) {
  const std::optional<std::string> text = TRY(read_file(path, limit));
  if (!text) return std::nullopt;
  auto parsed = parse(*text);
  if (!parsed) return unexpected(what, path, *text);
  return parsed;
}

// A file of one line, without the line feed. nullopt: no such file.
Result<std::optional<std::string>> read_line(const std::string& path);
// Writes the text as it is, in one write(2). `refused` is the message on failure; errno goes to the detail and selects
// the code: Busy (EBUSY, EALREADY), BadRequest (EINVAL, ERANGE), NotFound (ENOENT) or Hardware.
Result<void> write_text(const std::string& path, std::string_view text, const std::string& refused);

// Sorted names without "." and "..". Empty: no such directory.
Result<std::vector<std::string>> list_directory(const std::string& path);
// Does not follow links.
bool exists(const std::string& path);
// The target of a link. nullopt: no such link.
std::optional<std::string> read_link(const std::string& path);

// The last component of a path.
std::string_view name_in(std::string_view path);

}  // namespace nrd::onload
