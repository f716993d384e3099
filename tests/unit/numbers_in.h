// The numbers that a refusal names.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

namespace nrd::testing {

// "at most 4", "2 or 4"
inline std::vector<uint32_t> numbers_in(const std::string& text) {
  std::vector<uint32_t> numbers;
  for (size_t i = 0; i < text.size(); ++i) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), number);
    if (error != std::errc{}) continue;
    numbers.push_back(number);
    i = static_cast<size_t>(end - text.data());
  }
  return numbers;
}

}  // namespace nrd::testing
