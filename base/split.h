// Splits text without copying it.
#pragma once

#include <algorithm>
#include <string_view>

namespace nrd {

// Takes the part before the first `separator` from the front of `rest`, and the separator; all if there is none.
inline std::string_view take_until(std::string_view& rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

}  // namespace nrd
