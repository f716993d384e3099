#include "base/suggestions.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/ascii.h"

namespace nrd {
namespace {

constexpr unsigned kChange = 4;
constexpr unsigned kLeftOut = 2;  // a character of the known word
constexpr unsigned kCaseChange = 1;

unsigned cost(char a, char b) {
  if (a == b) return 0;
  return lower_case(a) == lower_case(b) ? kCaseChange : kChange;
}

// Levenshtein's distance, row by row; two neighbours exchanged are one change.
unsigned distance(std::string_view a, std::string_view b) {
  std::vector<unsigned> before_last(b.size() + 1);
  std::vector<unsigned> last(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<unsigned>(j) * kLeftOut;
  for (size_t i = 0; i < a.size(); ++i) {
    std::vector<unsigned> row{last[0] + kChange};
    for (size_t j = 0; j < b.size(); ++j) {
      row.push_back(std::min({last[j] + cost(a[i], b[j]), row[j] + kLeftOut, last[j + 1] + kChange}));
      const bool is_exchanged = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (is_exchanged) row.back() = std::min(row.back(), before_last[j - 1] + kChange);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

}  // namespace

std::string_view closest(std::string_view word, const std::vector<std::string_view>& known) {
  constexpr size_t kCompared = 64;  // longer than any known word; bounds the cost for hostile input
  const std::string_view given = word.substr(0, kCompared);
  // Of words at the same distance, the one with the longer common beginning: "wate" is "wait" rather than "name".
  const auto rank = [given](std::string_view candidate) {
    const auto common = std::ranges::mismatch(given, candidate).in1 - given.begin();
    return std::pair(distance(given, candidate), -common);
  };
  const auto best = std::ranges::min_element(known, {}, rank);
  if (best == known.end()) return {};
  const size_t shorter = std::min(given.size(), best->size());
  return rank(*best).first > kChange + shorter / 4 * kChange ? std::string_view() : *best;
}

std::string did_you_mean(std::string_view guess, std::string_view before, std::string_view after) {
  if (guess.empty()) return "";
  return fmt::format("; did you mean {}{}{}?", before, guess, after);
}

}  // namespace nrd
