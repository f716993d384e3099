// Joins words to one text: joined({"a", "b"}, ", ") is "a, b".
#pragma once

#include <functional>
#include <ranges>
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

}  // namespace nrd
