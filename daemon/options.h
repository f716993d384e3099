// The command line of nrd. Flags override the configuration file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/config.h"

namespace nrd::daemon {

struct Options {
  bool check_only = false;  // --check-config
  bool resets = false;      // --reset
  bool unconfines = false;  // --unconfine
  ConfigSource source;      // of `loaded`, for a reload
  LoadedConfig loaded;
};

// Parses flags and the files they name. Prints help, version and usage errors itself and then sets the code to exit
// with.
Result<Options> parse_options(int argc, char** argv, std::optional<int>& exit_code);

// Flags of RMD without a meaning in nrd. A unit written for RMD may use them: each gets a helpful error instead of "not
// expected". Supported RMD flags are ordinary options. Returns the error for the first such flag; nullopt: none.
std::optional<std::string> refused_flag_of_rmd(const std::vector<std::string>& words);

}  // namespace nrd::daemon
