#include "hw/cpuset/types.h"

#include <algorithm>

#include "base/ascii.h"

namespace nrd::cpuset {
namespace {

constexpr std::string_view kService = ".service";
constexpr std::string_view kScope = ".scope";

}  // namespace

// As systemd checks names (unit_name_is_valid), of plain units.
bool is_unit_name(std::string_view name) {
  constexpr size_t kLongest = 255;
  if (name.size() > kLongest || !(name.ends_with(kService) || name.ends_with(kScope))) return false;
  const std::string_view stem = name.substr(0, name.rfind('.'));
  return is_word(stem, ":-_.\\@") && stem.front() != '@';
}

bool is_cgroup_path(std::string_view path) {
  constexpr size_t kLongest = 1024;
  if (path.size() > kLongest || !path.starts_with('/')) return false;
  for (std::string_view rest = path; !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view part = rest.substr(0, rest.find('/'));
    const bool is_printable = std::ranges::all_of(part, [](unsigned char c) { return c > 0x20 && c != 0x7f; });
    if (part.empty() || part == "." || part == ".." || !is_printable) return false;
    rest.remove_prefix(part.size());
  }
  return true;
}

const std::pair<const std::string, CpuSet>* overlapping_part(const std::map<std::string, CpuSet>& inner,
                                                             const CpuSet& cpus) {
  for (const auto& each : inner) {
    const bool is_all = cpus.is_subset_of(each.second);
    if (each.second.intersects(cpus) && !is_all && !each.second.is_subset_of(cpus)) return &each;
  }
  return nullptr;
}

}  // namespace nrd::cpuset
