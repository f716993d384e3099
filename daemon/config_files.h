// Reads the configuration from its files: the named one, then DIR/*.toml in the order of their names, where DIR is the
// path of the named file with ".d". A key of a later file replaces that of an earlier one, a list as a whole.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "daemon/config.h"

namespace nrd::daemon {

// What a reload reads again. Flags override the files.
struct ConfigSource {
  std::string file = "/etc/nrd/nrd.toml";
  bool is_required = false;  // false: the file may be absent, because every key has a default
  bool debug = false;
  bool force_config = false;
  std::optional<uint16_t> debug_port{}, tls_port{};
  std::optional<std::string> address{}, unix_socket{}, state_directory{}, log_level{};
};

// Reads and checks everything. Errors name file and line.
Result<LoadedConfig> load_config(const ConfigSource& source);

}  // namespace nrd::daemon
