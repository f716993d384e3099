// A file that people write as one tree, whether it is TOML or YAML, so that what it may say is written once: nrd's
// policies (daemon/policy_file.h), and the files of RMD (cli/move). toml++ is read in toml.cc, yaml-cpp in yaml.cc.
//
// Keys are in lower case, as RMD read them; two that differ in case only are an error. YAML's plain scalars are numbers
// where JSON would say so, true, false and null; all else is text, also on and off. Errors name file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json/value.h"
#include "base/result.h"

namespace nrd::tree {

Result<json::Value> of_toml(const std::string& text, const std::string& name);
Result<json::Value> of_yaml(const std::string& text, const std::string& name);

// What both keep to. A YAML file may name a part of itself, and so be endless or vast.
constexpr size_t kTreeDepth = 8;
constexpr size_t kTreeValues = 8192;

// "/etc/nrd/policy.toml:3: ..."
Failure at_line(const std::string& name, size_t line, const std::string& problem);

// Adds a member with the key in lower case. False: there is one with this key.
bool add_member(std::vector<json::Member>& members, std::string_view key, json::Value value);

}  // namespace nrd::tree
