// Reading small kernel files and configuration whole, with a bound, and writing values to kernel files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/cpu_set.h"
#include "base/result.h"

namespace nrd {

constexpr size_t kFileLimit = size_t{1} << 20;

// The whole content of a regular or kernel file. Hardware error with path and errno in `detail` if it cannot be read or
// is larger than `limit`; nullopt if there is no such file, which is not an error.
Result<std::optional<std::string>> read_file(const std::string& path, size_t limit = kFileLimit);

// The same for a kernel file of one line, which is complete at the line's end: one read, where read_file() needs
// another to detect the end.
Result<std::optional<std::string>> read_one_line(const std::string& path);

// A list of CPUs, or of NUMA nodes, in such a file: "0-3,8"; empty if the line is. Any other text is a Hardware error,
// also a list without the line end: it was truncated, and half of "0-15" is another list.
Result<std::optional<CpuSet>> read_cpu_list(const std::string& path);

// Writes a value to a kernel file, in one write(2): the kernel accepts a value only whole, and would take the rest for
// another one. The errno on failure; EIO: it accepted a part. It may still have another value. `flags`: more of
// open(2).
tl::expected<void, int> write_value(const std::string& path, std::string_view value, int flags = 0);

// Text without leading and trailing blanks and line ends.
std::string_view trimmed(std::string_view text);

}  // namespace nrd
