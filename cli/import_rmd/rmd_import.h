// One configuration on its way from RMD to nrd: what was read, what is to be written, and what is told about it.
//
// Each key of RMD is asked for by its name as documents write it ("default.dbValidatorInterval"); case does not matter.
// What nobody asked for in the end, RMD did not know either, and is told so.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/json/value.h"
#include "cli/import_rmd/report.h"
#include "cli/new_files.h"

namespace nrd::cli {

class RmdImport {
 public:
  // `output`: nrd's directory, absolute.
  RmdImport(json::Value config, std::string output) : config_(std::move(config)), output_(std::move(output)) {}

  // Null where it says nothing. Marks the key as known.
  const json::Value& value(const std::string& key);
  // `otherwise` is RMD's default.
  std::string text(const std::string& key, const std::string& otherwise);
  bool says(const std::string& key) { return !value(key).is_null(); }
  // Names of sections there are, in lower case.
  std::vector<std::string> sections() const;
  // Keys there are that nobody asked for.
  std::vector<std::string> unknown() const;

  // A key of nrd.toml; `literal` as TOML writes it.
  void set(const std::string& section, const std::string& key, const std::string& literal);
  // A file below the directory of nrd: in "" or in "tls".
  void add_file(const std::string& directory, NewFile file) { files_[directory].push_back(std::move(file)); }
  std::string path_of(const std::string& below) const { return output_ + "/" + below; }

  Report& report() { return report_; }
  const Report& report() const { return report_; }
  // The text of nrd.toml: what was set, then a comment for each key that was left out.
  std::string configuration() const;
  const std::map<std::string, std::vector<NewFile>>& files() const { return files_; }

 private:
  json::Value config_;
  std::string output_;
  std::set<std::string> known_;                            // in lower case
  std::map<std::string, std::vector<std::string>> lines_;  // of nrd.toml, by section
  std::map<std::string, std::vector<NewFile>> files_;
  Report report_;
};

// A string as TOML and JSON both write it.
std::string literal_of(const std::string& text);
// What a file of RMD has, short enough for a comment.
std::string shown(const json::Value& value);

}  // namespace nrd::cli
