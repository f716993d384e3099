#include "cli/table.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace nrd::cli {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kLeastWidth = 8;  // of a column that is cut
constexpr std::string_view kCut = "...";

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// In characters, not bytes (UTF-8).
size_t width_of(const std::string& text) { return static_cast<size_t>(std::ranges::count_if(text, begins_character)); }

std::string cut(const std::string& text, size_t width) {
  if (width_of(text) <= width) return text;
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    if (begins_character(text[end]) && characters++ == width - kCut.size()) break;
  }
  return text.substr(0, end).append(kCut);
}

// Takes from the widest column until lines fit, or no column is left to cut.
void narrow(std::vector<size_t>& widths, size_t columns) {
  const auto total = [&widths] { return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1)); };
  for (size_t now = total(); now > columns; now = total()) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= kLeastWidth) return;
    --*widest;
  }
}

}  // namespace

std::string Table::drawn(bool headers, size_t columns) const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < titles_.size(); ++i) {
    size_t width = headers ? width_of(titles_[i]) : 0;
    for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  if (columns > 0 && !widths.empty()) narrow(widths, columns);
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string cell = cut(cells[i], widths[i]);
      text += cell;
      if (i + 1 < cells.size()) text.append(widths[i] - width_of(cell) + kGap, ' ');
    }
    text += '\n';
  };
  if (headers) add_line(titles_);
  for (const auto& row : rows_) add_line(row);
  return text;
}

void Table::print(const Output& output) const {
  nrd::cli::print(drawn(output.headers, output.wide ? 0 : output.columns));
}

}  // namespace nrd::cli
