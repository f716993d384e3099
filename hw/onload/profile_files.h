// Profiles of Onload as files: NAME.opf, and NAME.opf-fragment for what other profiles import.
//
// Read by root and handed to applications, so they come from trusted folders only (trusted_dir.h). What a profile says
// is not asked here (profiles/). A folder that is not there has none. One thread at a time for what writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/onload/trusted_dir.h"

namespace nrd::onload {

inline constexpr size_t kProfileLimit = size_t{64} << 10;  // bytes of one
inline constexpr size_t kProfilesLimit = 256;              // of one folder

// "latency.opf", "throughput.opf-fragment": letters, digits and _ . + -, no dot at the front, at most 80 of them.
bool is_profile_file(std::string_view file);

class ProfileFolder {
 public:
  ProfileFolder(Trust trust, std::string path) : trust_(std::move(trust)), path_(std::move(path)) {}

  // Names of its profiles, in order.
  Result<std::vector<std::string>> files() const;
  // nullopt: it has no such file.
  Result<std::optional<std::string>> read(const std::string& file) const;
  // On disk when this returns; after a power cut it is the old text or the new one. The folder is made if it is absent.
  Result<void> write(const std::string& file, std::string_view text) const;
  // On disk as well. False: there was none.
  Result<bool> remove(const std::string& file) const;

  // As the host has it: "/var/lib/nrd/profiles".
  std::string path() const { return (trust_.root == "/" ? "" : trust_.root) + path_; }

 private:
  Result<std::optional<TrustedDir>> open() const;
  Result<TrustedDir> make() const;
  Error named(Error error) const;

  Trust trust_;
  std::string path_;  // below the root of `trust`
};

}  // namespace nrd::onload
