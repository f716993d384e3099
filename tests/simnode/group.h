// One resctrl group: a class of service and what belongs to it. Settings exist per cache, and only for caches
// that have a CPU online.
#pragma once

#include <map>
#include <optional>

#include "machine.h"
#include "tasks.h"

namespace nrd::simnode {

enum class Mode { Shareable, Exclusive, LockSetup, Locked };

// The masks of one level's caches, by id.
struct Masks {
  std::map<int, Ways> ways;  // with CDP those for data
  std::map<int, Ways> code;  // empty without CDP

  Ways all_of(int cache) const {
    Ways all = 0;
    for (const auto* masks : {&ways, &code}) {
      if (const auto found = masks->find(cache); found != masks->end()) all |= found->second;
    }
    return all;
  }
};

// A pseudo-locked region: ways of one cache.
struct Region {
  int level = 0, cache = 0;
  Ways ways = 0;
};

struct Group {
  int closid = 0;
  Mode mode = Mode::Shareable;
  std::optional<Region> region;       // once it is locked, when the group has given back its class and its masks
  std::map<int, Masks> masks;         // by the number of the level
  std::map<int, unsigned> bandwidth;  // by the id of the last level's cache; empty without MB
  Cpus cpus;
  Tasks tasks;  // of every group but the root, which has all tasks that are nowhere else

  bool is_lock() const { return mode == Mode::LockSetup || mode == Mode::Locked; }
};

}  // namespace nrd::simnode
