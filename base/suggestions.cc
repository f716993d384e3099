#include "base/suggestions.h"

#include <algorithm>
#include <limits>

namespace nrd {
namespace {

constexpr unsigned kChange = 2;
constexpr unsigned kCaseChange = 1;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

unsigned cost(char a, char b) {
  if (a == b) return 0;
  return lower(a) == lower(b) ? kCaseChange : kChange;
}

// Levenshtein's distance, row by row.
unsigned distance(std::string_view a, std::string_view b) {
  std::vector<unsigned> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<unsigned>(j) * kChange;
  for (size_t i = 0; i < a.size(); ++i) {
    unsigned diagonal = row[0];
    row[0] += kChange;
    for (size_t j = 0; j < b.size(); ++j) {
      const unsigned changed = diagonal + cost(a[i], b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + kChange, row[j + 1] + kChange});
    }
  }
  return row.back();
}

}  // namespace

std::string_view closest(std::string_view word, const std::vector<std::string_view>& known) {
  constexpr size_t kCompared = 64;  // longer than any known word; bounds the cost for hostile input
  std::string_view best;
  unsigned least = std::numeric_limits<unsigned>::max();
  for (const std::string_view candidate : known) {
    const unsigned d = distance(word.substr(0, kCompared), candidate);
    if (d >= least) continue;
    least = d;
    best = candidate;
  }
  return best;
}

}  // namespace nrd
