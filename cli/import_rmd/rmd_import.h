// One conversion from RMD to nrd: the parsed input, the files to write, and the report.
//
// RMD's keys are looked up by their documented name ("default.dbValidatorInterval"), ignoring case. Keys that no code
// looked up are unknown to RMD and are reported.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json/value.h"
#include "cli/import_report.h"
#include "cli/new_files.h"

namespace nrd::cli {

class RmdImport {
 public:
  // `output`: nrd's directory, absolute.
  RmdImport(json::Value config, std::string output) : config_(std::move(config)), output_(std::move(output)) {}

  // Null if the key is absent. Marks the key as known.
  const json::Value& value(const std::string& key);
  // `otherwise` is RMD's default.
  std::string text(const std::string& key, const std::string& otherwise);
  bool says(const std::string& key) { return !value(key).is_null(); }
  // Keys that were never looked up.
  std::vector<std::string> unknown() const;

  // Sets a key of nrd.toml; `literal` in TOML syntax.
  void set(const std::string& section, const std::string& key, const std::string& literal);
  // Likewise, and reports that it is what RMD's key or file `from` says.
  void take(const std::string& from, const std::string& section, const std::string& key, const std::string& literal);
  void take_text(const std::string& from, const std::string& section, const std::string& key, const std::string& text);
  // Adds a file below nrd's directory: in "" or in "tls".
  void add_file(const std::string& directory, NewFile file) { files_[directory].push_back(std::move(file)); }
  std::string path_of(const std::string& below) const { return output_ + "/" + below; }

  Report& report() { return report_; }
  const Report& report() const { return report_; }
  // The text of nrd.toml: the keys set, then a comment for each key that was left out.
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

// A string literal valid in TOML and JSON.
std::string literal_of(const std::string& text);
// RMD's decoder accepted numbers and booleans in quotes, and 1 and 0 as booleans.
std::optional<uint64_t> number_in(const json::Value& value);
std::optional<bool> flag_in(const json::Value& value);
// A value of an RMD file, shortened for a comment.
std::string shown(const json::Value& value);

}  // namespace nrd::cli
