#include "engine/plan/cpus/zone_choice.h"

#include <algorithm>
#include <limits>

namespace nrd::plan {
namespace {

// Leaves those of least cost; false if that is all of them.
bool narrow(const ChoiceFacts& facts, std::vector<ZoneIndex>& candidates, const Criterion& criterion) {
  int64_t least = std::numeric_limits<int64_t>::max();
  std::vector<ZoneIndex> best;
  for (const ZoneIndex zone : candidates) {
    const int64_t cost = criterion.cost(facts, zone, criterion);
    if (cost > least) continue;
    if (cost < least) best.clear();
    least = cost;
    best.push_back(zone);
  }
  const bool narrowed = best.size() < candidates.size();
  candidates = std::move(best);
  return narrowed;
}

}  // namespace

ZoneChoice choose_zone(const ChoiceFacts& facts, std::vector<ZoneIndex> candidates,
                       const std::vector<Criterion>& criteria) {
  if (candidates.size() == 1) return {candidates.front(), "only zone that fits"};
  std::vector<std::string_view> requested;
  const Criterion* last = nullptr;
  for (const Criterion& criterion : criteria) {
    if (candidates.size() == 1) break;
    if (!narrow(facts, candidates, criterion)) continue;
    last = &criterion;
    const bool is_named = !requested.empty() && requested.back() == criterion.name;
    if (criterion.is_requested && !is_named) requested.push_back(criterion.name);
  }
  std::string reason;
  const auto add = [&reason](std::string_view name) { reason.append(reason.empty() ? "" : "; then ").append(name); };
  for (const std::string_view name : requested) add(name);
  if (last != nullptr && !last->is_requested) add(last->name);
  return {candidates.front(), reason};
}

}  // namespace nrd::plan
