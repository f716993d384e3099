#include "hw/rdt/write_order.h"

#include <algorithm>

namespace nrd::rdt {
namespace {

// One class on one cache on the way from `before` to `goal`; `now` is the last written mask.
struct Move {
  ClosId clos;
  WayMask before;
  WayMask now;
  WayMask goal;
  std::optional<Split> split{};  // of the goal

  WaysWrite to(CacheId cache, WayMask ways) const {
    return {.clos = clos, .cache = cache, .ways = ways, .split = ways == goal ? split : std::nullopt};
  }
};

// Ways that `move` must not use yet: another class holds them that shares them with it neither before nor after.
// Classes that do not move need no check: a mask only ever has its ways of before and after, which may be shared.
WayMask held_by_others(const Move& move, const std::vector<Move>& moves) {
  WayMask held;
  for (const Move& other : moves) {
    if (other.clos == move.clos) continue;
    held = held | (other.now - ((move.before & other.before) | (move.goal & other.goal)));
  }
  return held;
}

// The best mask that `move` can have now; empty if it has to wait.
WayMask next_step(const Move& move, const std::vector<Move>& moves, unsigned min_ways) {
  const WayMask held = held_by_others(move, moves);
  if (!move.goal.intersects(held)) return move.goal;
  if (move.goal.contains(move.now)) return {};  // it holds nothing that others wait for
  const WayMask part = (move.goal - held).longest_run();
  return part.count() >= min_ways ? part : WayMask();
}

// All moves wait for each other, so one releases as much as it can and keeps a legal mask: the end of its ways that
// other moves need less. Empty if it cannot.
WayMask least(const Move& move, const std::vector<Move>& moves, unsigned min_ways) {
  const WayMask run = move.now.longest_run();
  if (move.goal.contains(move.now) || run.count() < min_ways) return {};
  WayMask wanted;
  for (const Move& other : moves) {
    if (other.clos != move.clos) wanted = wanted | other.goal;
  }
  const WayMask lower = WayMask::run(run.lowest(), min_ways);
  const WayMask upper = WayMask::run(run.end() - min_ways, min_ways);
  const WayMask kept = (upper & wanted).count() < (lower & wanted).count() ? upper : lower;
  return move.now.count() == min_ways ? WayMask() : kept;
}

// Terminates: each round finishes a move, moves one inside its goal for good, or reduces one to its minimum for good.
void write_masks(std::vector<Write>& writes, CacheId cache, std::vector<Move> moves, unsigned min_ways) {
  const auto step_of = [&](const Move& move) { return next_step(move, moves, min_ways); };
  const auto least_of = [&](const Move& move) { return least(move, moves, min_ways); };
  while (!moves.empty()) {
    auto next = std::ranges::find_if(moves, [&](const Move& move) { return step_of(move) == move.goal; });
    if (next != moves.end()) {
      writes.emplace_back(next->to(cache, next->goal));
      moves.erase(next);
      continue;
    }
    next = std::ranges::find_if(moves, [&](const Move& move) { return !step_of(move).empty(); });
    WayMask mask = next == moves.end() ? WayMask() : step_of(*next);
    if (mask.empty()) {
      next = std::ranges::find_if(moves, [&](const Move& move) { return !least_of(move).empty(); });
      if (next != moves.end()) mask = least_of(*next);
    }
    if (mask.empty()) {
      next = moves.begin();
      mask = next->goal;
    }
    writes.emplace_back(next->to(cache, mask));
    next->now = mask;
    if (next->now == next->goal) moves.erase(next);
  }
}

unsigned min_ways_of(const Cats& cats, CacheId cache) {
  const Cat* found = find_in(cats, cache.level);
  return found ? std::max(found->min_ways, 1U) : 1;
}

std::vector<Write> mask_writes(const Observed& observed, const Setting& wanted, const Cats& cats) {
  std::map<CacheId, std::vector<Move>> moves;
  for (const auto& [clos, caches] : wanted.ways) {
    for (const auto& [cache, goal] : caches) {
      const WayMask now = observed.ways_of(clos, cache).value_or(WayMask());
      const std::optional<Split> split = wanted.split_of(clos, cache);
      if (now == goal && observed.split_of(clos, cache) == split) continue;
      moves[cache].push_back({.clos = clos, .before = now, .now = now, .goal = goal, .split = split});
    }
  }
  std::vector<Write> writes;
  for (const auto& [cache, of_cache] : moves) {
    write_masks(writes, cache, of_cache, min_ways_of(cats, cache));
  }
  return writes;
}

}  // namespace

std::vector<Write> write_order(const Observed& observed, const Setting& wanted, const Cats& cats) {
  const std::vector<Write> masks = mask_writes(observed, wanted, cats);
  CpuSet leaving;
  std::map<ClosId, CpuSet> entering;
  for (const auto& [cpu, clos] : wanted.cpus) {
    const std::optional<ClosId> now = observed.class_of(cpu);
    if (now == clos) continue;
    const bool waits = now && now != kRootClass && !masks.empty();
    if (clos == kRootClass || waits) leaving.add(cpu);
    if (clos != kRootClass) entering[clos].add(cpu);
  }
  std::vector<Write> writes;
  if (!leaving.empty()) writes.emplace_back(CpusWrite{kRootClass, leaving});
  writes.insert(writes.end(), masks.begin(), masks.end());
  for (const auto& [clos, cpus] : entering) writes.emplace_back(CpusWrite{clos, cpus});
  return writes;
}

}  // namespace nrd::rdt
