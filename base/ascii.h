// Letters and digits of ASCII, whatever the locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace nrd {

constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_case(c);
  return lower;
}

constexpr bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Nothing but letters, digits and `others`.
inline bool is_made_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [others](char c) { return is_alphanumeric(c) || others.find(c) != others.npos; });
}

// Likewise, and not empty.
inline bool is_word(std::string_view text, std::string_view others) {
  return !text.empty() && is_made_of(text, others);
}

}  // namespace nrd
