// Splits text without copying it.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace nrd {

// Takes the part before the first `separator` from the front of `rest`, and the separator; all if there is none.
inline std::string_view take_until(std::string_view& rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

// At any of some characters, without empty parts: split("a, b", ", ") is {"a", "b"}.
inline std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (size_t begin = text.find_first_not_of(separators); begin != text.npos;) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(separators, end);
  }
  return parts;
}

}  // namespace nrd
