// Onload profiles as files: NAME.opf, and NAME.opf-fragment for imports by other profiles.
//
// They are read by root and given to applications, so they come from trusted directories only (trusted_dir.h). Their
// content is parsed elsewhere (profiles/). A missing directory counts as empty. Writers: one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/onload/trusted_dir.h"

namespace nrd::onload {

inline constexpr size_t kProfileLimit = size_t{64} << 10;  // bytes of a profile
inline constexpr size_t kProfilesLimit = 256;              // per directory

inline constexpr std::string_view kProfileSuffix = ".opf";
inline constexpr std::string_view kFragmentSuffix = ".opf-fragment";

// "latency.opf", "throughput.opf-fragment": at most 80 letters, digits and _ . + -, not starting with a dot.
bool is_profile_file(std::string_view file);
// "latency" is in latency.opf; the id of a fragment is the name of its file.
std::string file_of_profile(const std::string& id);
std::string id_of_profile(const std::string& file);

class ProfileFolder {
 public:
  ProfileFolder(Trust trust, std::string path) : trust_(std::move(trust)), path_(std::move(path)) {}

  // Sorted file names.
  Result<std::vector<std::string>> files() const;
  // nullopt: no such file.
  Result<std::optional<std::string>> read(const std::string& file) const;
  // Durable and atomic. Creates the directory if it is missing.
  Result<void> write(const std::string& file, std::string_view text) const;
  // Durable. False: no such file.
  Result<bool> remove(const std::string& file) const;

  // On the host: "/var/lib/nrd/profiles".
  std::string path() const { return (trust_.root == "/" ? "" : trust_.root) + path_; }

 private:
  Result<std::optional<TrustedDir>> open() const;
  Result<TrustedDir> make() const;

  Trust trust_;
  std::string path_;  // below the root of `trust`
};

}  // namespace nrd::onload
