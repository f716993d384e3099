// Reading small kernel files and configuration whole, with a bound.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nrd {

constexpr size_t kFileLimit = size_t{1} << 20;

// The whole content of a regular or kernel file. Hardware error with path and errno in `detail` if it cannot be read or
// is larger than `limit`; nullopt if there is no such file (gone is an answer, not a failure).
Result<std::optional<std::string>> read_file(const std::string& path, size_t limit = kFileLimit);

// The same of a kernel file that is one line, which is whole at the line's end: one read, where read_file() takes
// another to see that nothing follows.
Result<std::optional<std::string>> read_one_line(const std::string& path);

// Text without blanks and line ends at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace nrd
