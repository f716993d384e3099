// Adds a library at the front of an LD_PRELOAD value (ld.so(8)), unless the value has a library of that file name.
#pragma once

#include <string>
#include <string_view>

namespace nrd::profiles {

std::string merge_preload(std::string_view before, std::string_view library);

}  // namespace nrd::profiles
