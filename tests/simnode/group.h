// One resctrl group: a class of service and what belongs to it. Settings exist per L3 domain, and only for domains
// that have a CPU online.
#pragma once

#include <cstdint>
#include <map>

#include "cpu_list.h"
#include "tasks.h"

namespace nrd::simnode {

using Ways = std::uint64_t;

struct Group {
  int closid = 0;
  bool exclusive = false;
  std::map<int, Ways> ways;           // by cache id; with CDP those for data
  std::map<int, Ways> code;           // by cache id; empty without CDP
  std::map<int, unsigned> bandwidth;  // by cache id; empty without MB
  Cpus cpus;
  Tasks tasks;  // of every group but the root, which has all tasks that are nowhere else
};

}  // namespace nrd::simnode
