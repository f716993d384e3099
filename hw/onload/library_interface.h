// Checks that libonload.so matches the module: both have the checksum of their common interface, which the module shows
// in /proc/driver/onload/version and compares when an application starts (ELIBACC if they differ).
//
// The library can only be asked by running it, which nrd as root does not do. But it prints the checksum in stack
// dumps, so the file contains it as text. Any thread.
#pragma once

#include <string_view>

#include "base/result.h"

namespace nrd::onload {

// Searches the whole file. `text` must not be empty.
Result<bool> contains_text(int file, std::string_view text);

}  // namespace nrd::onload
