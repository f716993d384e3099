// The Onload releases installed on this node, each in its own tree.
//
//   /opt/nrd/onload/
//     versions/9.0.2/          the tree of a release, as its installer creates it below a prefix, and SHA256SUMS
//       lib/modules/6.1.0-56-amd64/extra/{sfc,sfc_resource,sfc_char,onload}.ko
//       sbin/onload_cp_server  usr/lib64/libonload.so  usr/libexec/onload/profiles/  ...
//     current -> versions/9.0.2
//
// A tree is imported once and never changed, so going back only selects another tree. The properties of a version
// (modules, kernels) are read from its files each time; only the hashes are stored. All paths, including sources, are
// opened through TrustedDir: root will run the files.
//
// One thread at a time. import() and verify() read whole trees and take seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/trusted_dir.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// [A-Za-z0-9._+-]{1,64}, not starting with a dot.
bool is_version_name(std::string_view name);

class Versions {
 public:
  static constexpr size_t kVersionLimit = 64;
  static constexpr size_t kDifferenceLimit = 100;

  explicit Versions(Trust trust, std::string folder = "/opt/nrd/onload")
      : trust_(std::move(trust)), folder_(std::move(folder)) {}

  // Empty if the directory is missing.
  Result<std::vector<std::string>> names() const;
  // NotFound: no such version.
  Result<Version> read(const std::string& name) const;
  // Identifies the files of a version: the manifest is written last.
  struct Stamp {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t modified = 0;  // nanoseconds
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  Result<Stamp> stamp(const std::string& name) const;
  // Imports a directory or tar archive of this node.
  Result<Version> import(const std::string& name, const std::string& source) const;
  // Differences to the import, as sentences; at most kDifferenceLimit.
  Result<std::vector<std::string>> verify(const std::string& name) const;
  // BadRequest: it is the current version. The caller ensures that its files are unused.
  Result<void> remove(const std::string& name) const;

  // Opens a file of a version for reading, after checking its hash.
  Result<UniqueFd> open(const std::string& name, const std::string& path) const;

  // The target of `current`; nullopt: none.
  Result<std::optional<std::string>> current() const;
  // Sets `current`, atomically and durably.
  Result<void> select(const std::string& name) const;

  // Removes leftovers of interrupted imports and removals. Call at startup.
  Result<void> sweep() const;

 private:
  Result<TrustedDir> folder() const;
  Result<TrustedDir> make_folder() const;
  Result<TrustedDir> tree(const std::string& name) const;

  Trust trust_;
  std::string folder_;
};

}  // namespace nrd::onload
