// Tables of text, as wide as their cells need. On a terminal the widest columns are cut to its width: "a-long-na...".
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cli/printer.h"

namespace nrd::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> titles) : titles_(std::move(titles)) {}

  // As many cells as titles.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // `columns`: 0, or the width that lines must not exceed.
  std::string drawn(bool headers, size_t columns) const;
  // Prints it. With all columns asked for (-o wide) nothing is cut.
  void print(const Output& output) const;

 private:
  std::vector<std::string> titles_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace nrd::cli
