// LD_PRELOAD with one library more (ld.so(8)): in front, and what is there stays. A library of that file name, wherever
// it lies, is left to stand alone: somebody has chosen it.
#pragma once

#include <string>
#include <string_view>

namespace nrd::profiles {

std::string merge_preload(std::string_view before, std::string_view library);

}  // namespace nrd::profiles
