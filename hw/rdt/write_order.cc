#include "hw/rdt/write_order.h"

#include <algorithm>
#include <set>

namespace nrd::rdt {
namespace {

constexpr ClosId kRootClass{0};

// One class on one cache on its way from `now` to `goal`.
struct Move {
  ClosId clos;
  WayMask now;
  WayMask goal;
  bool held;  // CPUs are in the class while masks are written; the ways of an empty class belong to nobody yet
};

// `move` takes a way that another class still holds and is going to lose.
bool is_blocked(const Move& move, const std::vector<Move>& moves) {
  return move.held && std::any_of(moves.begin(), moves.end(), [&](const Move& other) {
    return other.held && other.clos != move.clos && move.goal.intersects(other.now - other.goal);
  });
}

// What the next write of `move` should say so that others can go on: what it has and keeps. Nothing if that is no mask.
WayMask shrunk(const Move& move, unsigned min_ways) {
  const WayMask kept = move.now & move.goal;
  return kept != move.now && kept.is_contiguous() && kept.count() >= min_ways ? kept : WayMask();
}

void write_masks(std::vector<Write>& writes, CacheId cache, std::vector<Move> moves, unsigned min_ways) {
  std::erase_if(moves, [](const Move& move) { return move.now == move.goal; });
  while (!moves.empty()) {
    auto next = std::find_if(moves.begin(), moves.end(), [&](const Move& move) { return !is_blocked(move, moves); });
    if (next == moves.end()) {
      const auto shrinkable = std::find_if(moves.begin(), moves.end(),
                                           [&](const Move& move) { return !shrunk(move, min_ways).empty(); });
      if (shrinkable != moves.end()) {
        shrinkable->now = shrunk(*shrinkable, min_ways);
        writes.emplace_back(WaysWrite{shrinkable->clos, cache, shrinkable->now});
        std::erase_if(moves, [](const Move& move) { return move.now == move.goal; });
        continue;
      }
      next = moves.begin();
    }
    writes.emplace_back(WaysWrite{next->clos, cache, next->goal});
    moves.erase(next);
  }
}

std::map<CpuId, ClosId> homes(const Observed& observed) {
  std::map<CpuId, ClosId> home;
  for (const auto& [clos, group] : observed.classes) {
    for (const CpuId cpu : group.cpus.members()) home[cpu] = clos;
  }
  return home;
}

WayMask ways_now(const Observed& observed, ClosId clos, CacheId cache) {
  const auto group = observed.classes.find(clos);
  if (group == observed.classes.end()) return {};
  const auto ways = group->second.ways.find(cache);
  return ways == group->second.ways.end() ? WayMask() : ways->second;
}

enum class Left { No, Yes };  // nobody is in the class any more

std::map<CacheId, std::vector<Move>> moves_of(const Observed& observed, const Setting& wanted,
                                              const std::set<ClosId>& in_use, const std::set<ClosId>& held, Left left) {
  std::map<CacheId, std::vector<Move>> moves;
  for (const auto& [clos, caches] : wanted.ways) {
    if (in_use.contains(clos) == (left == Left::Yes)) continue;
    for (const auto& [cache, goal] : caches) {
      moves[cache].push_back({clos, ways_now(observed, clos, cache), goal, held.contains(clos)});
    }
  }
  return moves;
}

}  // namespace

std::vector<Write> write_order(const Observed& observed, const Setting& wanted, unsigned min_ways) {
  std::vector<Write> writes;
  std::vector<Write> enter;
  std::set<CpuId> entered;
  std::map<CpuId, ClosId> home = homes(observed);
  std::set<ClosId> held{kRootClass};    // while masks are written
  std::set<ClosId> in_use{kRootClass};  // in the end
  for (const auto& [cpu, clos] : wanted.cpus) {
    const auto now = home.find(cpu);
    if (now != home.end() && now->second == clos) continue;
    (clos == kRootClass ? writes : enter).emplace_back(CpuWrite{cpu, clos});
    if (clos != kRootClass && now != home.end()) held.insert(now->second);
    home[cpu] = clos;
    if (clos != kRootClass) entered.insert(cpu);
  }
  for (const auto& [cpu, clos] : home) {
    in_use.insert(clos);
    if (!entered.contains(cpu)) held.insert(clos);
  }
  for (const auto& [cache, moves] : moves_of(observed, wanted, in_use, held, Left::No)) {
    write_masks(writes, cache, moves, min_ways);
  }
  writes.insert(writes.end(), enter.begin(), enter.end());
  for (const auto& [cache, moves] : moves_of(observed, wanted, in_use, held, Left::Yes)) {
    write_masks(writes, cache, moves, min_ways);
  }
  return writes;
}

}  // namespace nrd::rdt
