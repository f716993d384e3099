// Flags of RMD without a meaning in nrd. A unit written for RMD may use them: each gets a helpful error instead of "not
// expected". Supported RMD flags are ordinary options (options.cc).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nrd::daemon {

// The error for the first such flag on the command line; nullopt: none.
std::optional<std::string> refused_flag_of_rmd(const std::vector<std::string>& words);

}  // namespace nrd::daemon
