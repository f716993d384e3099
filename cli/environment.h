// The environment of a process as a map, and back. Entries without '=' are dropped.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nrd::cli {

using Environment = std::map<std::string, std::string>;

// Letters, digits and underscores, at most 128; the first is no digit.
bool is_variable_name(std::string_view name);

Environment own_environment();
// Empty: it is not set.
std::string value_in(const Environment& environment, const std::string& name);
// One "NAME=VALUE" per variable, in order.
std::vector<std::string> lines_of(const Environment& environment);

}  // namespace nrd::cli
