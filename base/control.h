// Control characters in UTF-8, which must not reach a terminal or be part of a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace nrd {

// U+0000 to U+001F and U+007F: a byte of its own.
constexpr bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// What follows is shown in another order, or on another line (Unicode Standard Annexes 9 and 14).
constexpr bool moves_text(uint32_t code_point) {
  return code_point == 0x61c || code_point == 0x200e || code_point == 0x200f ||
         (code_point >= 0x2028 && code_point <= 0x202e) || (code_point >= 0x2066 && code_point <= 0x2069);
}

// Bytes of the control character that `text` begins with; 0 if it begins with none. Among them are U+0080 to U+009F,
// the eight-bit forms of terminal escapes.
constexpr size_t control_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto [code_point, length] = first_code_point(text);
  const bool is_found = code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) || moves_text(code_point);
  return is_found ? length : 0;
}

// Replaces each of them by "?".
inline std::string without_controls(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const size_t control = control_length(text);
    clean += control > 0 ? '?' : text[0];
    text.remove_prefix(control > 0 ? control : 1);
  }
  return clean;
}

// Text from a client, the kernel or a file, of at most `longest` bytes, all of them printable ASCII.
inline std::string printable_ascii(std::string_view text, size_t longest) {
  std::string printable(text.substr(0, longest));
  for (char& c : printable) c = c < ' ' || c > '~' ? '?' : c;
  return printable;
}

inline bool has_controls(std::string_view text) { return without_controls(text) != text; }

}  // namespace nrd
