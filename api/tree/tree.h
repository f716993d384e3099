// Parses TOML and YAML files to one kind of tree, so that they share one validation: nrd's policies
// (daemon/policy_file.h), RMD's files (cli/import_rmd) and declared workloads (documents.h). Only toml.cc uses toml++,
// only yaml.cc yaml-cpp.
//
// Two keys that differ only in case are an error if they become lower case. YAML's plain scalars are numbers,
// true, false and null as in JSON; all others are text, including on and off. Errors name file and line.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::tree {

enum class KeyCase {
  Lower,  // keys become lower case, as in RMD
  AsWritten,
};

Result<json::Value> of_toml(const std::string& text, const std::string& name, KeyCase keys = KeyCase::Lower);
Result<json::Value> of_yaml(const std::string& text, const std::string& name, KeyCase keys = KeyCase::Lower);

// Limits for both formats. YAML aliases can make a tree endless or huge.
constexpr size_t kTreeDepth = 8;
constexpr size_t kTreeValues = 65536;
constexpr size_t kTreeBytes = size_t{16} << 20;  // of all keys and texts together, as of the largest file

// toml++ limits nested brackets but not dotted keys, where each dot adds a table: a line with a hundred thousand dots
// overflows the stack.
Result<void> check_lines(std::string_view text, const std::string& name);

// "/etc/nrd/policy.toml:3: ..."
Failure at_line(const std::string& name, size_t line, const std::string& problem);

// `convert` makes a value of each node.
template <typename Nodes, typename Convert>
Result<json::Value> array_of(const Nodes& nodes, Convert convert) {
  std::vector<json::Value> values;
  for (const auto& node : nodes) {
    json::Value value = TRY(convert(node));
    values.push_back(std::move(value));
  }
  return json::Value::array(std::move(values));
}

// False if the key exists.
bool add_member(std::vector<json::Member>& members, std::string_view key, json::Value value, KeyCase keys);

}  // namespace nrd::tree
