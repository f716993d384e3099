// Flags of RMD's that mean nothing here. A unit written for RMD may have them: what each was for is answered, instead
// of "not expected". Those that do something are flags like all others (options.cc).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nrd::daemon {

// Why the first such flag in the command line is refused; nullopt: there is none.
std::optional<std::string> refused_flag_of_rmd(const std::vector<std::string>& words);

}  // namespace nrd::daemon
