#include "engine/model/core_ids.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace nrd {
namespace {

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

enum class Read { Whole, BrokenOff };

// One number or range, optionally preceded by "^".
Result<Read> add_to(CpuSet& cpus, std::string_view part, CpuId last) {
  part = without_blanks(part);
  const bool is_taken_away = part.starts_with('^');
  if (is_taken_away) part = without_blanks(part.substr(1));
  const auto named = TRY(CpuSet::parse_range(part));
  if (is_taken_away) {
    cpus.remove(named.first, named.second);
    return Read::Whole;
  }
  const bool is_possible = named.second <= last;
  cpus.add(named.first, is_possible ? named.second : std::max(named.first, CpuId{last.value + 1}));
  return is_possible ? Read::Whole : Read::BrokenOff;
}

Result<Read> add_item(CpuSet& cpus, std::string_view item, CpuId last) {
  for (;;) {
    const size_t comma = std::min(item.find(','), item.size());
    const Result<Read> added = add_to(cpus, item.substr(0, comma), last);
    if (!added || *added == Read::BrokenOff || comma == item.size()) return added;
    item.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<CpuSet> parse_core_ids(const std::vector<std::string>& items, CpuId last) {
  CpuSet cpus;
  for (size_t i = 0; i < items.size(); ++i) {
    const Result<Read> added = add_item(cpus, items[i], last);
    if (!added) {
      Error error = added.error();
      error.field = fmt::format("/core_ids/{}", i);
      return Failure(std::move(error));
    }
    if (*added == Read::BrokenOff) break;
  }
  return cpus;
}

}  // namespace nrd
