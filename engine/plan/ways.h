// Which ways of one cache somebody gets. Pure arithmetic on masks; grant.h applies it to workloads.
#pragma once

#include <optional>
#include <vector>

#include "base/way_mask.h"

namespace nrd::plan {

// The ways of one cache that a newcomer may choose from.
struct Room {
  WayMask free;  // of its pool
  WayMask
      unassigned;  // of the whole cache, the OS floor and other pools included: the OS fills the longest run of these
  WayMask shareable;  // ways that I/O fills too
};

// A run of `count` ways within `room.free`. Of all such runs the best, in this order:
//   1. as few shareable ways as possible, because the newcomer shares them with I/O;
//   2. the longest run of unassigned ways is left, because the OS cannot fill the others;
//   3. the longest run is left to the pool, because the next newcomer needs one;
//   4. the highest.
std::optional<WayMask> place_run(const Room& room, unsigned count);

// One best-effort workload on one cache, and how many ways it gets.
struct Slot {
  WayMask before;  // ways it has; empty: a newcomer
  unsigned count = 0;
};

// A run for each slot, side by side from one end of `room.free`, which is one run. `slots` begin with those that have
// ways, from the highest down, and stay in that order. Of the two ends the one from which fewer workloads move, because
// those leave their cached data behind; then the one that place_run() would take.
std::vector<WayMask> pack_runs(const Room& room, const std::vector<Slot>& slots);

// The run that the OS fills: the longest one. Of equal ones that with the OS floor, then the one with the fewest
// shareable ways, then the lowest.
WayMask os_run(WayMask unassigned, WayMask floor, WayMask shareable);

// One best-effort workload on one cache.
struct Demand {
  unsigned min = 0;
  unsigned max = 0;
  unsigned now = 0;  // ways it has; 0: a newcomer
};

enum class Shrink { No, Yes };

// How many of `room` ways each gets: nobody below its min, nobody above its max; with Shrink::No nobody below what it
// has now. What is left over goes way by way to the narrowest. nullopt if they do not fit.
std::optional<std::vector<unsigned>> share_ways(unsigned room, const std::vector<Demand>& demands, Shrink shrink);

}  // namespace nrd::plan
