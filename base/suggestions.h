// "did you mean": the known word with the smallest edit distance.
#pragma once

#include <string_view>
#include <vector>

namespace nrd {

// Empty if `known` is empty. A difference in case costs half of another change, so "CORE_IDS" matches "core_ids".
std::string_view closest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace nrd
