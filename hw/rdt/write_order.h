// Orders the writes of a setting. Pure.
//
// Removes bits before granting them: for a moment a way may belong to no class, but never to two classes that share it
// neither before nor after. And a CPU is never in a class while ways of that class are reassigned. So:
//
//   1. CPUs leave their class for the root class. A CPU that changes between two classes waits in the root class while
//      masks change, so that it never uses reassigned ways.
//   2. Masks, each as soon as no other class holds a way it needs.
//   3. CPUs enter their classes, whose masks are final by now.
//
// Step 2 on cache 0 for "COS1 and COS2 swap ways"; no mask may be empty, so one of them keeps a way for a while:
//
//   COS1 ####....   #.......   #.......   ....####   ....####
//   COS2 ....####   ....####   .###....   .###....   ####....
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "hw/rdt/types.h"

namespace nrd::rdt {

struct WaysWrite {
  ClosId clos;
  CacheId cache;
  WayMask ways;
  std::optional<Split> split{};  // of these ways, once they are the goal
  friend bool operator==(const WaysWrite&, const WaysWrite&) = default;
};
// All CPUs that enter a class at that moment, in one write; its present CPUs stay.
struct CpusWrite {
  ClosId clos;
  CpuSet cpus;
  friend bool operator==(const CpusWrite&, const CpusWrite&) = default;
};
using Write = std::variant<WaysWrite, CpusWrite>;

// Only what differs. A mask in between is contiguous, has at least Cat::min_ways ways of its level (1
// where `cats` has none), and consists of ways that the class has before or after. If classes that swap ways have too
// few to release any, one of them gets its ways while another still holds them: reaching the setting has priority over
// exclusiveness on the way.
std::vector<Write> write_order(const Observed& observed, const Setting& wanted, const Cats& cats);

}  // namespace nrd::rdt
