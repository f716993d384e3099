// Parses TOML and YAML files to one kind of tree, so that they share one validation: nrd's policies
// (daemon/policy_file.h) and RMD's files (cli/import_rmd). Only toml.cc uses toml++, only yaml.cc yaml-cpp.
//
// Keys become lower case, as in RMD; two keys that differ only in case are an error. YAML's plain scalars are numbers,
// true, false and null as in JSON; all others are text, including on and off. Errors name file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::tree {

Result<json::Value> of_toml(const std::string& text, const std::string& name);
Result<json::Value> of_yaml(const std::string& text, const std::string& name);

// Limits for both formats. YAML aliases can make a tree endless or huge.
constexpr size_t kTreeDepth = 8;
constexpr size_t kTreeValues = 8192;

// "/etc/nrd/policy.toml:3: ..."
Failure at_line(const std::string& name, size_t line, const std::string& problem);

// Adds a member with a lower-case key. False if the key exists.
bool add_member(std::vector<json::Member>& members, std::string_view key, json::Value value);

}  // namespace nrd::tree
