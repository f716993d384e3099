// Lists directories.
#pragma once

#include <cstddef>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace nrd {

// Sorted names in an open directory, without "." and "..". The errno on failure; EFBIG: more than `limit`. Keeps the
// offset of `directory`.
tl::expected<std::vector<std::string>, int> list_names(int directory, size_t limit);
// The same of the directory with this path; none on failure.
std::vector<std::string> names_in(const std::string& path, size_t limit);

}  // namespace nrd
