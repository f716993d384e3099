// Writes tar archives of small files (POSIX.1-1988 ustar), which need no library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nrd::cli {

// One file, readable by its owner only. The name has at most 99 bytes; `modified` is in seconds since 1970.
std::string ustar_member(std::string_view name, std::string_view content, uint64_t modified);
// The end marker of the archive.
std::string ustar_end();

}  // namespace nrd::cli
