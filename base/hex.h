// Bytes as hexadecimal digits, lower case, two each: "\x0a\xff" is "0aff".
#pragma once

#include <string>
#include <string_view>

namespace nrd {

inline std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace nrd
