// Whether libonload.so speaks to a module: both must have been built with the same interface, whose checksum the module
// tells in /proc/driver/onload/version and compares when an application starts (ELIBACC if it is another).
//
// The library has no way to be asked but to be run, which nrd as root does not. But it prints the checksum in dumps of
// stacks, so its text stands in the file as it is. Any thread.
#pragma once

#include <string_view>

#include "base/result.h"

namespace nrd::onload {

// `text`: not empty. Reads the whole file, from its beginning.
Result<bool> holds_text(int file, std::string_view text);

}  // namespace nrd::onload
