// Reads the text of one configuration file. Only config_document.cc uses toml++.
//
// Values are JSON values, so that the keys (config_keys.h) parse and show them in one notation. TOML's dates and
// fractions become null: no key takes them.
#pragma once

#include <string>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::daemon {

struct ConfigEntry {
  std::string key;
  json::Value value;
  size_t line = 0;
  std::vector<size_t> items{};  // lines of the tables of a list: of each [[cpu.pools]]
};

// [name] with its keys.
struct ConfigSection {
  std::string name;
  size_t line = 0;
  bool is_table = true;  // false: `name = value` at the top of the file
  std::vector<ConfigEntry> entries;
};

// `name`: of the file, for error messages.
Result<std::vector<ConfigSection>> read_document(const std::string& text, const std::string& name);

}  // namespace nrd::daemon
