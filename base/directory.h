// Lists directories.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/number.h"

namespace nrd {

enum class Entries { All, Folders };

// Sorted names in an open directory, without "." and "..". The errno on failure; EFBIG: more than `limit`. Keeps the
// offset of `directory`.
tl::expected<std::vector<std::string>, int> list_names(int directory, size_t limit, Entries which = Entries::All);
// The same of the directory with this path.
tl::expected<std::vector<std::string>, int> list_names(const std::string& path, size_t limit,
                                                       Entries which = Entries::All);
// None on failure.
std::vector<std::string> names_in(const std::string& path, size_t limit);
// The numbers among them, in order.
template <typename Number>
std::vector<Number> numbers_in(const std::string& path, size_t limit) {
  std::vector<Number> numbers;
  for (const std::string& name : names_in(path, limit)) {
    if (const auto number = parse_number<Number>(name)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace nrd
