// The releases of Onload that are installed on this node, side by side, each in a tree of its own.
//
//   /opt/nrd/onload/
//     versions/9.0.2/          the tree of a release, as its installer makes it below a prefix, and SHA256SUMS
//       lib/modules/6.1.0-56-amd64/extra/{sfc,sfc_resource,sfc_char,onload}.ko
//       sbin/onload_cp_server  usr/lib64/libonload.so  usr/libexec/onload/profiles/  ...
//     current -> versions/9.0.2
//
// A tree is imported once and never changed: other releases are other trees, so going back is only another choice. What
// a version is (modules, kernels) is read from its files each time; stored are only their hashes. Everything is opened
// by way of TrustedDir, sources too: whoever could write to a source could write what root will run.
//
// One thread at a time. import() and verify() read whole trees and take seconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/load_order.h"
#include "hw/onload/trusted_dir.h"

namespace nrd::onload {

struct Version {
  std::string name;
  // By the release of the kernel ("6.1.0-56-amd64") the modules for it, in the order of loading.
  std::map<std::string, std::vector<VersionModule>> kernels;
  // Paths in the tree; empty: it has none.
  std::string control_plane;  // "sbin/onload_cp_server"
  std::string library;        // "usr/lib64/libonload.so"
  std::string profiles;       // "usr/libexec/onload/profiles"
  friend bool operator==(const Version&, const Version&) = default;
};

// [A-Za-z0-9._+-]{1,64}, not with a dot at the beginning.
bool is_version_name(std::string_view name);

class Versions {
 public:
  static constexpr size_t kVersionLimit = 64;
  static constexpr size_t kDifferenceLimit = 100;

  explicit Versions(Trust trust, std::string folder = "/opt/nrd/onload")
      : trust_(std::move(trust)), folder_(std::move(folder)) {}

  // None if the folder is not there.
  Result<std::vector<std::string>> names() const;
  // NotFound: there is no such version.
  Result<Version> read(const std::string& name) const;
  // Changes when the files of the version do: a tree is whole once its manifest is there, and is not changed after
  // that.
  struct Stamp {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t modified = 0;  // nanoseconds
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  Result<Stamp> stamp(const std::string& name) const;
  // A version from a folder or a tar archive of this node, by its path.
  Result<Version> import(const std::string& name, const std::string& source) const;
  // What is not as it was imported, a sentence each; none: all is well. At most kDifferenceLimit.
  Result<std::vector<std::string>> verify(const std::string& name) const;
  // BadRequest: it is the current one. Whether anything still uses its files, the caller must know.
  Result<void> remove(const std::string& name) const;

  // A file of a version, open for reading, whose content has the hash of the import: what is checked is what is used.
  Result<UniqueFd> open(const std::string& name, const std::string& path) const;

  // Where `current` leads; nullopt: there is none.
  Result<std::optional<std::string>> current() const;
  // At any moment, also after a power cut, `current` leads to the version before or to this one.
  Result<void> select(const std::string& name) const;

  // Removes what interrupted imports and removals left. At the start, when nothing else is under way.
  Result<void> sweep() const;

 private:
  Result<TrustedDir> folder() const;
  Result<TrustedDir> make_folder() const;
  Result<TrustedDir> tree(const std::string& name) const;

  Trust trust_;
  std::string folder_;
};

}  // namespace nrd::onload
