// A tar archive of small files (POSIX.1-1988 ustar), as text: what every tar reads, and too little to need a library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nrd::cli {

// One file, readable by its owner alone. The name has up to 99 bytes; `modified` is in seconds since 1970.
std::string ustar_member(std::string_view name, std::string_view content, uint64_t modified);
// What the archive ends with.
std::string ustar_end();

}  // namespace nrd::cli
