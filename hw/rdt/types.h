// What this room knows and wants, in plain structs: the node's caches, its classes of service, and a setting of them.
//
// A class of service (CLOS) is one resctrl group: ClosId 0 is the root group, ClosId n the directory COSn. A class has
// one way mask per L3 cache id; a CPU belongs to exactly one class.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/way_mask.h"

namespace nrd::rdt {

// L3 cache allocation as the kernel offers it (info/L3). The same numbers hold for every cache id.
struct L3Cat {
  unsigned classes = 0;   // usable ClosIds are 0 .. classes-1
  unsigned ways = 0;      // width of a mask
  unsigned min_ways = 1;  // min_cbm_bits: a mask has at least that many ways
  WayMask shareable;      // shareable_bits: ways that I/O (DDIO) also fills
  friend bool operator==(const L3Cat&, const L3Cat&) = default;
};

// What discover() finds. CPUs and caches are known on a node without RDT as well.
struct Node {
  CpuSet possible;                   // all CPU numbers this boot may ever see
  CpuSet online;                     // those that run now
  std::map<CacheId, CpuSet> caches;  // online CPUs of each L3 cache
  std::map<CacheId, int> sockets;    // physical_package_id of each L3 cache, for people
  std::optional<L3Cat> l3_cat;       // absent: no L3 CAT here
  std::vector<std::string> missing;  // why, one sentence each: "L3 CAT: the CPU has none (no cat_l3 in /proc/cpuinfo)"
  friend bool operator==(const Node&, const Node&) = default;
};

struct Class {
  std::map<CacheId, WayMask> ways;
  CpuSet cpus;             // online CPUs only: the kernel drops offline ones
  bool has_tasks = false;  // tasks are bound to the group
  friend bool operator==(const Class&, const Class&) = default;
};

// All of it as read from the kernel.
struct Observed {
  std::map<ClosId, Class> classes;
  // Groups made by others under other names; not ours to touch, but their ways and CPUs are taken.
  std::map<std::string, Class> foreign;
  friend bool operator==(const Observed&, const Observed&) = default;
};

// What some knobs must say. A knob that is not named is left alone.
struct Setting {
  std::map<ClosId, std::map<CacheId, WayMask>> ways;
  std::map<CpuId, ClosId> cpus;
  friend bool operator==(const Setting&, const Setting&) = default;
};

}  // namespace nrd::rdt
