// Joins words to one text: joined({"a", "b"}, ", ") is "a, b".
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nrd {

// `text_of`: a function or member that is the text of each.
template <std::ranges::range Words = std::vector<std::string>, typename TextOf = std::identity>
std::string joined(const Words& words, std::string_view separator, TextOf text_of = {}) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += separator;
    text += std::invoke(text_of, word);
  }
  return text;
}

// At most as many, and the number of the others: "a, b and 3 more".
inline std::string joined_first(size_t most, const std::vector<std::string>& words) {
  const size_t shown = std::min(most, words.size());
  const std::string text = joined(std::span(words).first(shown), ", ");
  return shown < words.size() ? text + " and " + std::to_string(words.size() - shown) + " more" : text;
}

}  // namespace nrd
