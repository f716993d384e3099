// The files of a version that applications use: the preloaded library, and its profiles.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/onload/trusted_dir.h"

namespace nrd::onload {

// In the tree of a version: Debian's multiarch directory, or that of RPMs.
inline constexpr std::array<std::string_view, 2> kLibraryFolders{"usr/lib/x86_64-linux-gnu", "usr/lib64"};
inline constexpr std::string_view kLibraryFile = "libonload.so";
inline constexpr std::string_view kProfileFolder = "usr/libexec/onload/profiles";

// The path of a version's tree, below the root of `trust`.
std::string tree_of_version(const std::string& versions, const std::string& name);

// Paths below the root of `trust`: libonload.so, then those that belong to it (libonload.so.1, libonload_ext.so...).
// Empty: no such version, or it has no library.
Result<std::vector<std::string>> find_libraries(const Trust& trust, const std::string& versions,
                                                const std::string& name);

// Searches the whole file. Whether libonload.so matches the module: both have the checksum of their common interface,
// which the module shows in /proc/driver/onload/version and compares when an application starts (ELIBACC if they
// differ). The library can only be asked by running it, which nrd as root does not do. But it prints the checksum in
// stack dumps, so the file contains it as text. `text` must not be empty.
Result<bool> contains_text(int file, std::string_view text);

}  // namespace nrd::onload
