#pragma once

#include <string>
#include <utility>

#include "daemon/config.h"

namespace nrd::daemon {

// `text`, in a file of this name, on top of the defaults.
inline Result<Config> parse_config(const std::string& text, const std::string& name) {
  LoadedConfig loaded;
  TRY(parse_onto(loaded, text, name));
  return std::move(loaded.config);
}

}  // namespace nrd::daemon
