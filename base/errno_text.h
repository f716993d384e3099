// The text of an errno: "No such file or directory".
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace nrd {

inline std::string errno_text(int error = errno) { return std::generic_category().message(error); }
// With what it is about, a path or a call: "/dev/cpu/3/msr: No such file or directory".
inline std::string errno_text(std::string_view about, int error = errno) {
  return std::string(about) + ": " + errno_text(error);
}

}  // namespace nrd
