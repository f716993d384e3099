#include "engine/plan/ways.h"

#include <algorithm>
#include <numeric>

namespace nrd::plan {

std::optional<WayMask> place_run(WayMask free, unsigned count, WayMask avoid) {
  if (count == 0 || count > free.end()) return std::nullopt;
  std::optional<WayMask> best;
  for (unsigned lowest = free.end() - count + 1; lowest-- > 0;) {
    const WayMask run = WayMask::run(lowest, count);
    if (!free.contains(run)) continue;
    if (!best || (run & avoid).count() < (*best & avoid).count()) best = run;
  }
  return best;
}

std::optional<std::vector<unsigned>> share_ways(unsigned room, const std::vector<Demand>& demands, Shrink shrink) {
  std::vector<unsigned> ways;
  for (const Demand& demand : demands) {
    const unsigned kept = shrink == Shrink::Yes ? 0 : std::min(demand.now, demand.max);
    ways.push_back(std::max(demand.min, kept));
  }
  const unsigned taken = std::accumulate(ways.begin(), ways.end(), 0U);
  if (taken > room) return std::nullopt;
  for (unsigned left = room - taken; left > 0; --left) {
    std::optional<size_t> narrowest;
    for (size_t i = 0; i < demands.size(); ++i) {
      if (ways[i] < demands[i].max && (!narrowest || ways[i] < ways[*narrowest])) narrowest = i;
    }
    if (!narrowest) break;
    ++ways[*narrowest];
  }
  return ways;
}

}  // namespace nrd::plan
