// "did you mean": the known word with the smallest edit distance.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nrd {

// Empty if each of `known` differs in more than one change and another for every four characters. A difference in case
// is a quarter of a change, so "CORE_IDS" matches "core_ids"; a character left out is half of one: "cores" matches it.
std::string_view closest(std::string_view word, const std::vector<std::string_view>& known);

// "; did you mean [server]?", with `before` and `after` around the closest word, if there is one.
std::string did_you_mean(std::string_view guess, std::string_view before, std::string_view after);

}  // namespace nrd
