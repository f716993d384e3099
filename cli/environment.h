// The environment of a process as a map, and back. Entries without '=' are dropped.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace nrd::cli {

using Environment = std::map<std::string, std::string>;

Environment own_environment();
// One "NAME=VALUE" per variable, in order.
std::vector<std::string> lines_of(const Environment& environment);

}  // namespace nrd::cli
