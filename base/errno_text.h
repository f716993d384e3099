// The text of an errno: "No such file or directory".
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace nrd {

inline std::string errno_text(int error = errno) { return std::generic_category().message(error); }

}  // namespace nrd
