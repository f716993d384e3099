// RMD's configuration directory or a copy. Paths below /etc/rmd in its files are resolved inside this directory, so
// that a copy from another node works.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"

namespace nrd::cli {

class RmdDirectory {
 public:
  // BadRequest if it is not a directory.
  static Result<RmdDirectory> open(const std::string& path);

  // Resolves a path from RMD's files: "/etc/rmd/policy.toml" or, relative to the directory, "policy.toml".
  std::string place_of(const std::string& named) const;
  // Nullopt: the file does not exist.
  Result<std::optional<std::string>> read(const std::string& named) const;
  // A TOML or YAML file (by suffix) as one object; keys in lower case.
  Result<std::optional<json::Value>> read_tree(const std::string& named) const;
  // Names of the *.pem files in a directory, sorted; none if the directory is absent.
  std::vector<std::string> certificates_in(const std::string& named) const;

 private:
  explicit RmdDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;  // without a trailing slash
};

}  // namespace nrd::cli
