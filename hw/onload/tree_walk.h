// All that is below a trusted folder, in order, a folder before what is in it. Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/trusted_dir.h"

namespace nrd::onload {

inline constexpr size_t kTreeLimit = 20000;  // entries; a tree of Onload has some hundreds

struct TreeEntry {
  enum class Kind { Folder, File, Link };
  std::string path;  // from the folder on: "usr/bin/onload"
  Kind kind = Kind::File;
  bool executable = false;  // by its owner
  std::string target;       // of a link, as it says
  friend bool operator==(const TreeEntry&, const TreeEntry&) = default;
};

// BadRequest: there are devices, sockets or FIFOs, more than kTreeLimit entries, or folders that are not to be trusted.
Result<std::vector<TreeEntry>> list_tree(const TrustedDir& top);

}  // namespace nrd::onload
