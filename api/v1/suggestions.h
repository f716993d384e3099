// "did you mean": the known word that needs the fewest changes to become a given one.
#pragma once

#include <string_view>
#include <vector>

namespace nrd::v1 {

// Empty if `known` is. Letters in the wrong case count half as wrong as other letters, so "CORE_IDS" finds "core_ids".
std::string_view closest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace nrd::v1
