// The environment of a process as a map, and back. Entries without '=' are dropped.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace nrd::cli {

using Environment = std::map<std::string, std::string>;

Environment own_environment();
// Sets variables as -e has them, "NAME=VALUE". A name has letters, digits and underscores, at most 128, and begins with
// no digit. BadRequest otherwise.
Result<void> add_variables(Environment& environment, const std::vector<std::string>& lines);
// Empty: it is not set.
std::string value_in(const Environment& environment, const std::string& name);
// One "NAME=VALUE" per variable, in order.
std::vector<std::string> lines_of(const Environment& environment);
// For execve(2) and posix_spawn(3), which do not write to the texts; the last one is null.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

}  // namespace nrd::cli
