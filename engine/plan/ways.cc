#include "engine/plan/ways.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace nrd::plan {
namespace {

enum class End { Low, High };

std::vector<WayMask> pack_from(End end, WayMask available, const std::vector<Slot>& slots) {
  // Upwards in the order of the workloads' present ways, which is that of the slots from the last one with ways.
  const auto newcomers = std::ranges::find_if(slots, [](const Slot& slot) { return slot.before.empty(); });
  std::vector<size_t> order(slots.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (end == End::Low) std::reverse(order.begin(), order.begin() + (newcomers - slots.begin()));
  std::vector<WayMask> runs(slots.size());
  WayMask left = available;
  for (const size_t i : order) {
    const unsigned lowest = end == End::Low ? left.lowest() : left.end() - slots[i].count;
    runs[i] = WayMask::run(lowest, slots[i].count);
    left = left - runs[i];
  }
  return runs;
}

bool moves(const Slot& slot, WayMask run) {
  return !slot.before.empty() && !run.contains(slot.before) && !slot.before.contains(run);
}

}  // namespace

std::optional<WayMask> place_run(const AvailableWays& available, unsigned count) {
  if (count == 0 || count > available.free.end()) return std::nullopt;
  const auto rank = [&available](WayMask run) {
    const unsigned exclusive = (run - available.shareable).count();
    return std::tuple(exclusive, (available.unassigned - run).longest_run().count(),
                      (available.free - run).longest_run().count());
  };
  std::optional<WayMask> best;
  for (unsigned lowest = available.free.end() - count + 1; lowest-- > 0;) {
    const WayMask run = WayMask::run(lowest, count);
    if (available.free.contains(run) && (!best || rank(run) > rank(*best))) best = run;
  }
  return best;
}

std::vector<WayMask> pack_runs(const AvailableWays& available, const std::vector<Slot>& slots) {
  const auto rank = [&](const std::vector<WayMask>& runs) {
    int moved = 0;
    WayMask taken;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (moves(slots[i], runs[i])) ++moved;
      taken = taken | runs[i];
    }
    return std::tuple(-moved, (taken - available.shareable).count(),
                      (available.unassigned - taken).longest_run().count());
  };
  std::vector<WayMask> high = pack_from(End::High, available.free, slots);
  std::vector<WayMask> low = pack_from(End::Low, available.free, slots);
  return rank(low) > rank(high) ? low : high;
}

WayMask os_run(WayMask unassigned, WayMask floor, WayMask shareable) {
  const auto rank = [&](WayMask run) {
    return std::tuple(run.count(), run.contains(floor), (run - shareable).count());
  };
  WayMask best;
  for (WayMask rest = unassigned; !rest.empty(); rest = rest - rest.lowest_run()) {
    if (rank(rest.lowest_run()) > rank(best)) best = rest.lowest_run();
  }
  return best;
}

std::optional<std::vector<unsigned>> share_ways(unsigned available, const std::vector<Demand>& demands, Shrink shrink) {
  std::vector<unsigned> ways;
  for (const Demand& demand : demands) {
    const unsigned kept = shrink == Shrink::Yes ? 0 : std::min(demand.now, demand.max);
    ways.push_back(std::max(demand.min, kept));
  }
  const unsigned taken = std::accumulate(ways.begin(), ways.end(), 0U);
  if (taken > available) return std::nullopt;
  for (unsigned left = available - taken; left > 0; --left) {
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
