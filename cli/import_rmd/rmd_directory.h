// RMD's directory of configuration, or a copy of it. Paths below /etc/rmd, which its files name, are looked up in the
// directory, so that one that was copied from another node can be read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/json/value.h"
#include "base/result.h"

namespace nrd::cli {

class RmdDirectory {
 public:
  // BadRequest if it is no directory.
  static Result<RmdDirectory> open(const std::string& path);

  // Where something is that RMD's files call so: "/etc/rmd/policy.toml" or, from the directory, "policy.toml".
  std::string place_of(const std::string& named) const;
  // Nullopt: there is no such file.
  Result<std::optional<std::string>> read(const std::string& named) const;
  // TOML or YAML by its name, as one object; keys in lower case.
  Result<std::optional<json::Value>> read_tree(const std::string& named) const;
  // Names of the *.pem in a directory, in order; none if it is absent.
  std::vector<std::string> certificates_in(const std::string& named) const;

 private:
  explicit RmdDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;  // without a slash at the end
};

}  // namespace nrd::cli
