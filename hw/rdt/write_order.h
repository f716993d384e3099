// In which order a setting is written. Pure.
//
// Take bits away before handing them out: for a moment a way may belong to nobody, but never to two classes that share
// it neither before nor after. And a CPU is never in a class while the ways of that class become somebody else's. So:
//
//   1. CPUs leave their class for the root class. One that changes between two classes waits in the root class while
//      masks change: there it is nobody's guest, in its old class it would use what others are given in step 2.
//   2. Masks, each as soon as nobody else still holds a way it takes.
//   3. CPUs enter their classes, whose masks are right by now.
//
// Step 2 on cache 0 for "COS1 and COS2 change places"; no mask may be empty, so one of them keeps a way for a while:
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
// All CPUs that come to a class at that moment, in one write; who is in it already stays.
struct CpusWrite {
  ClosId clos;
  CpuSet cpus;
  friend bool operator==(const CpusWrite&, const CpusWrite&) = default;
};
using Write = std::variant<WaysWrite, CpusWrite>;

// Only what differs. A mask in between is contiguous, has at least `min_ways` ways (on L2 beside L3 `l2_min_ways`; 0
// counts as 1), and consists of ways that the class has before or after. Where classes that change places have no room
// for that (each has too few ways to give one up), one of them takes its ways while another still holds them: the
// setting wins over the way there.
std::vector<Write> write_order(const Observed& observed, const Setting& wanted, unsigned min_ways,
                               unsigned l2_min_ways = 1);

}  // namespace nrd::rdt
