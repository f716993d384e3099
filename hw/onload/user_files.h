// What applications get of an installed version: the library that is preloaded, and its profiles.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/onload/trusted_dir.h"

namespace nrd::onload {

// In the tree of a version. Debian's multiarch folder before the one of RPMs; a tree has one of them.
inline constexpr std::array<std::string_view, 2> kLibraryFolders{"usr/lib/x86_64-linux-gnu", "usr/lib64"};
inline constexpr std::string_view kLibraryFile = "libonload.so";
inline constexpr std::string_view kProfileFolder = "usr/libexec/onload/profiles";

// The folder of a version's tree, from "/" of `trust` on.
std::string tree_of_version(const std::string& versions, const std::string& name);

// Paths from "/" of `trust` on: libonload.so, then the others that belong to it (libonload.so.1, libonload_ext.so...).
// Empty: the version has no library, or is not there.
Result<std::vector<std::string>> find_libraries(const Trust& trust, const std::string& versions,
                                                const std::string& name);

}  // namespace nrd::onload
