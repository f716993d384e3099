// A version tree in the making. It is written next to the finished ones under a name that no version can have, and
// becomes a version by one rename once all of it is on disk: a power cut leaves the whole tree or none.
//
// What arrives is a stranger's archive or folder, so only its meaning is taken: files and folders anew, with our own
// modes (0755 and 0644, so no setuid bits) and our own ownership, no ACLs, no attributes. A link within the tree
// becomes a copy of the file it leads to (Onload has a few, of libraries), so a finished tree has no links at all and
// can be walked without following any. Links to folders and out of the tree are refused, and so is everything beyond
// the limits.
//
// A path is relative and made of plain names (parts_of()). One thread; blocking.
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

// A release takes some 60 MB.
struct TreeLimits {
  uint64_t file = uint64_t{512} << 20;  // bytes
  uint64_t tree = uint64_t{2} << 30;    // bytes of all files
  size_t entries = kTreeLimit;
};

inline constexpr std::string_view kStagingPrefix = ".import-";

// The next bytes of a file; 0 at its end.
using NextBytes = std::function<Result<size_t>(std::span<char> into)>;
// From the offset of `fd` on, which must live as long.
NextBytes bytes_of(int fd);

class Staging {
 public:
  // What an earlier attempt left under this name is removed.
  static Result<Staging> begin(const TrustedDir& versions, const std::string& name, const TreeLimits& limits = {});
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  ~Staging();  // an import that was not finished leaves nothing

  // Folders on the way are made. BadRequest: the path is no path, or is there already.
  Result<void> add_folder(std::string_view path);
  Result<void> add_file(std::string_view path, bool executable, const NextBytes& next);
  // A symbolic link; `target` as it says, from the link's own folder on.
  Result<void> add_link(std::string_view path, std::string_view target);
  // A hard link to a file that was added before.
  Result<void> add_same(std::string_view path, std::string_view existing);

  // Puts files in place of links and writes the manifest. After it nothing may be added.
  Result<void> complete();
  // To be looked at before it is published.
  const TrustedDir& tree() const { return tree_; }
  // To disk, and to its name. BadRequest: there is a version of this name.
  Result<void> publish();

 private:
  Staging(const TrustedDir& versions, TrustedDir tree, std::string name, const TreeLimits& limits);
  // Whether something may be added at this path.
  Result<void> claim(const std::string& path) const;
  // The first `count` of `parts`, one in the other; the last one, nullopt: the tree itself.
  Result<std::optional<TrustedDir>> make_folders(const std::vector<std::string>& parts, size_t count);
  // A new file in an open folder. Its hash.
  Result<std::string> write(int folder, const std::string& name, bool executable, const NextBytes& next);

  const TrustedDir& versions_;
  TrustedDir tree_;
  std::string name_;
  TreeLimits limits_;
  bool is_ours_ = true;  // to be removed unless published

  Manifest files_;                            // with their hashes
  std::set<std::string> executables_;         // of the files
  std::set<std::string> folders_;             // named or made on the way
  std::map<std::string, std::string> links_;  // path and the file of the tree it leads to, which may be a link again
  uint64_t bytes_ = 0;
};

}  // namespace nrd::onload
