// One resctrl group: a class of service and what belongs to it. Settings exist per cache, and only for caches
// that have a CPU online.
#pragma once

#include <map>

#include "machine.h"
#include "tasks.h"

namespace nrd::simnode {

// The masks of one level's caches, by id.
struct Masks {
  std::map<int, Ways> ways;  // with CDP those for data
  std::map<int, Ways> code;  // empty without CDP
};

struct Group {
  int closid = 0;
  bool exclusive = false;
  std::map<int, Masks> masks;         // by the number of the level
  std::map<int, unsigned> bandwidth;  // by the id of the last level's cache; empty without MB
  Cpus cpus;
  Tasks tasks;  // of every group but the root, which has all tasks that are nowhere else
};

}  // namespace nrd::simnode
