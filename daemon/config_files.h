// Reads the configuration from its files: the named one, then DIR/*.toml in the order of their names, where DIR is the
// path of the named file with ".d". A key of a later file replaces that of an earlier one, a list as a whole.
#pragma once

#include "base/result.h"

namespace nrd::daemon {

struct ConfigSource;
struct LoadedConfig;

// Reads and checks everything. Errors name file and line.
Result<LoadedConfig> load_config(const ConfigSource& source);

}  // namespace nrd::daemon
