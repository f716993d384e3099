// In which order a setting is written. Pure.
//
// Take bits away before handing them out: for a moment a way may belong to nobody, but never to two guarantees. And a
// class that is given back (all ways, no CPUs) gets its ways only after its CPUs have left it. So:
//
//   1. CPUs go home to the root class, whose ways no workload shares before or after;
//   2. classes in use get their masks, each as soon as nobody else still holds a way it takes;
//   3. CPUs enter their classes, whose masks are right by now;
//   4. classes that nobody is in any more get their masks.
#pragma once

#include <variant>
#include <vector>

#include "hw/rdt/types.h"

namespace nrd::rdt {

struct WaysWrite {
  ClosId clos;
  CacheId cache;
  WayMask ways;
  friend bool operator==(const WaysWrite&, const WaysWrite&) = default;
};
struct CpuWrite {
  CpuId cpu;
  ClosId clos;
  friend bool operator==(const CpuWrite&, const CpuWrite&) = default;
};
using Write = std::variant<WaysWrite, CpuWrite>;

// Only what differs. Masks in between have at least `min_ways` ways and are contiguous. A cycle of classes that swap
// disjoint ways cannot be written without an overlap; the planner never asks for one.
std::vector<Write> write_order(const Observed& observed, const Setting& wanted, unsigned min_ways);

}  // namespace nrd::rdt
