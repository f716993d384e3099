// Everything below a trusted directory, parents before their children. Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/trusted_dir.h"

namespace nrd::onload {

inline constexpr size_t kTreeLimit = 20000;  // entries; an Onload tree has some hundreds

struct TreeEntry {
  enum class Kind { Folder, File, Link };
  std::string path;  // relative: "usr/bin/onload"
  Kind kind = Kind::File;
  bool executable = false;  // by its owner
  std::string target;       // of a link
  friend bool operator==(const TreeEntry&, const TreeEntry&) = default;
};

// BadRequest: devices, sockets or FIFOs, more than kTreeLimit entries, or untrusted directories.
Result<std::vector<TreeEntry>> list_tree(const TrustedDir& top);

}  // namespace nrd::onload
