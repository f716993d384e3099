// The command line of nrd. Flags override the configuration file.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "daemon/config.h"
#include "daemon/config_files.h"

namespace nrd::daemon {

struct Options {
  Config config;
  bool check_only = false;  // --check-config
  bool resets = false;      // --reset
  bool unconfines = false;  // --unconfine
  std::string config_file;  // the file that was read first; empty: none
  ConfigSource source;      // of `config`, for a reload
  LoadedConfig loaded;      // `config` with the origins of its values
};

// What to do instead of running: --help, --version, or a usage error.
struct Exit {
  int code = 0;
};

// Parses flags and the file they name. Prints help, version and usage errors itself and then returns the exit code.
Result<Options> parse_options(int argc, char** argv, std::optional<Exit>& exit);

}  // namespace nrd::daemon
