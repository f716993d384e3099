// ASCII letters without regard to case, as protocols define it: A to Z, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace nrd {

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return lower;
}

}  // namespace nrd
