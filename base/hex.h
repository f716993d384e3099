// Hexadecimal digits, lower case: of bytes, two each ("\x0a\xff" is "0aff"), and of numbers.
#pragma once

#include <fmt/core.h>

#include <cstdint>
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

// A number, without leading zeros: 0x7f0 is "7f0".
inline std::string hex_number(uint32_t number) { return fmt::format("{:x}", number); }

}  // namespace nrd
