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

// As a start reads it: the file, then the rules that concern several keys. Empty: none.
inline std::string problem_of(const std::string& text) {
  LoadedConfig loaded;
  Result<void> read = parse_onto(loaded, text, "nrd.toml");
  if (read) read = check(loaded);
  return read ? "" : read.error().message;
}

}  // namespace nrd::daemon
