#include "engine/core_ids.h"

#include <algorithm>
#include <string_view>

namespace nrd {
namespace {

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// One number or range, "^" in front or not.
Result<void> add_to(CpuSet& cpus, std::string_view part) {
  part = without_blanks(part);
  const bool is_taken_away = part.starts_with('^');
  if (is_taken_away) part = without_blanks(part.substr(1));
  const Result<CpuSet> named = CpuSet::parse(part);
  if (!named) return Failure(named.error());
  if (is_taken_away) {
    cpus -= *named;
  } else {
    cpus |= *named;
  }
  return {};
}

Result<void> add_item(CpuSet& cpus, std::string_view item) {
  for (;;) {
    const size_t comma = std::min(item.find(','), item.size());
    if (const Result<void> added = add_to(cpus, item.substr(0, comma)); !added) return added;
    if (comma == item.size()) return {};
    item.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<CpuSet> parse_core_ids(const std::vector<std::string>& items) {
  CpuSet cpus;
  for (size_t i = 0; i < items.size(); ++i) {
    if (const Result<void> added = add_item(cpus, items[i]); !added) {
      Error error = added.error();
      error.field = "/core_ids/" + std::to_string(i);
      return Failure(std::move(error));
    }
  }
  return cpus;
}

}  // namespace nrd
