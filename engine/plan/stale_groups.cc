#include "engine/plan/stale_groups.h"

#include <string_view>

#include "base/find_in.h"

namespace nrd::plan {
namespace {

bool is_class_name(std::string_view group) {
  constexpr std::string_view kPrefix = "COS";
  return group.starts_with(kPrefix) && group.size() > kPrefix.size() &&
         group.find_first_not_of("0123456789", kPrefix.size()) == group.npos;
}

}  // namespace

std::string how_to_free(const std::string& group) {
  return "to remove a leftover group: nrdctl reset --foreign '" + (is_class_name(group) ? "COS*" : group) + "'";
}

std::string held_by_others(const NodeState& state, CacheId cache, WayMask wanted) {
  const WayMask held = foreign_ways(state, cache) & wanted;
  if (held.empty()) return "";
  std::string group;
  for (const auto& [name, observed] : foreign_groups(state)) {
    const WayMask* ways = find_in(observed->ways, cache);
    if (ways && ways->intersects(held)) group = name;
  }
  return "; groups that nrd does not own hold " + std::to_string(held.count()) +
         (held.count() == 1 ? " way" : " ways") + " of the pool (GET /v1/node); " + how_to_free(group);
}

}  // namespace nrd::plan
