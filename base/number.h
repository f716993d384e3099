// Parses text that is a number as a whole, without blanks and plus sign; nullopt otherwise, or if it is out of range.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace nrd {

template <typename Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace nrd
