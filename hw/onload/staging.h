// A version tree under construction. It is written next to the finished ones, under a name that no version can have,
// and renamed once it is durable: a power failure leaves the whole tree or nothing.
//
// The source is untrusted, so only names and contents are taken: files and directories get our modes (0755 and 0644, no
// setuid bits) and ownership, no ACLs, no attributes. A link within the tree becomes a copy of its target (Onload has a
// few, of libraries), so a finished tree has no links. Links to directories or out of the tree, and anything beyond the
// limits, are refused.
//
// Paths are relative and consist of plain names (parts_of()). One thread; blocking.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/onload/manifest.h"
#include "hw/onload/tree_walk.h"
#include "hw/onload/trusted_dir.h"

namespace nrd::onload {

inline constexpr size_t kCopyBytes = size_t{1} << 16;  // at a time

// A release has about 60 MB.
struct TreeLimits {
  uint64_t file = uint64_t{512} << 20;  // bytes
  uint64_t tree = uint64_t{2} << 30;    // bytes of all files
  size_t entries = kTreeLimit;
};

inline constexpr std::string_view kStagingPrefix = ".import-";

// The next bytes of a file; 0 at its end.
using NextBytes = std::function<Result<size_t>(std::span<char> into)>;
// Reads from the offset of `fd`, which must outlive the result.
NextBytes bytes_of(int fd);

class Staging {
 public:
  // Removes leftovers of an earlier import of this name.
  static Result<Staging> begin(const TrustedDir& versions, const std::string& name, const TreeLimits& limits = {});
  Staging(Staging&& other) noexcept = default;
  Staging& operator=(Staging&&) = delete;
  ~Staging();  // removes an unpublished tree

  // Parent directories are created. BadRequest: invalid or duplicate path.
  Result<void> add_folder(std::string_view path);
  Result<void> add_file(std::string_view path, bool executable, const NextBytes& next);
  // A symbolic link; `target` is relative to the directory of the link.
  Result<void> add_link(std::string_view path, std::string_view target);
  // A hard link to a file that was added before.
  Result<void> add_hard_link(std::string_view path, std::string_view existing);

  // Replaces links by copies and writes the manifest. Nothing may be added afterwards.
  Result<void> complete();
  // For checks before publish().
  const TrustedDir& tree() const { return tree_; }
  // Syncs and renames the tree. BadRequest: the version exists.
  Result<void> publish();

 private:
  Staging(const TrustedDir& versions, TrustedDir tree, std::string name, const TreeLimits& limits);
  // A failure if nothing may be added at this path.
  Result<void> check_new(const std::string& path) const;
  // Creates the directories named by the first `count` parts; returns the innermost. nullopt: the tree itself.
  Result<std::optional<TrustedDir>> make_folders(const std::vector<std::string>& parts, size_t count);
  // Writes a new file in an open directory; returns its hash.
  Result<std::string> write(int folder, const std::string& name, bool executable, const NextBytes& next);

  const TrustedDir& versions_;
  TrustedDir tree_;
  std::string name_;
  TreeLimits limits_;
  bool is_unpublished_ = true;

  Manifest files_;                     // with their hashes
  std::set<std::string> executables_;  // subset of the files
  std::set<std::string> folders_;
  std::map<std::string, std::string> links_;  // path and target in the tree, which may be a link
  uint64_t bytes_ = 0;
};

}  // namespace nrd::onload
