// The environment of a process as a map, and back. What is no NAME=VALUE is left out, as a shell does.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace nrd::cli {

using Environment = std::map<std::string, std::string>;

Environment own_environment();
// "NAME=VALUE" each, in order.
std::vector<std::string> lines_of(const Environment& environment);

}  // namespace nrd::cli
