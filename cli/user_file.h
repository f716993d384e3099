// Files that a user names on the command line, and standard input in their place.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"

namespace nrd::cli {

// As read_file(), with an error for users: "cannot read feed.yaml: Permission denied".
Result<std::optional<std::string>> read_user_file(const std::string& path, size_t limit);
Result<std::string> read_standard_input(size_t limit);

}  // namespace nrd::cli
