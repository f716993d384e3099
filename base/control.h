// Control characters in UTF-8, which must not reach a terminal or be part of a name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nrd {

// U+0000 to U+001F and U+007F: a byte of its own.
constexpr bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// Bytes of the control character that `text` begins with; 0 if it begins with none. Two for U+0080 to U+009F, among
// them the eight-bit forms of terminal escapes.
constexpr size_t control_length(std::string_view text) {
  if (text.empty()) return 0;
  if (is_control(text[0])) return 1;
  if (text[0] != '\xc2' || text.size() < 2) return 0;
  return static_cast<unsigned char>(text[1]) < 0xa0 ? 2 : 0;
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

inline bool has_controls(std::string_view text) { return without_controls(text) != text; }

}  // namespace nrd
