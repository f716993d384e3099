// Allocates ways of one cache. Pure arithmetic on masks; grant.h applies it to workloads.
#pragma once

#include <optional>
#include <vector>

#include "base/way_mask.h"

namespace nrd::plan {

// The ways of one cache available to a new workload.
struct AvailableWays {
  WayMask free;  // of its pool
  WayMask
      unassigned;  // of the whole cache, the OS floor and other pools included: the OS fills the longest run of these
  WayMask shareable;  // ways that I/O also fills
};

// A run of `count` ways within `available.free`. The best of all such runs, in this order:
//   1. fewest shareable ways, because the workload shares them with I/O;
//   2. leaves the longest run of unassigned ways, because the OS can fill only one run;
//   3. leaves the longest run of the pool, because the next workload needs one;
//   4. the highest.
std::optional<WayMask> place_run(const AvailableWays& available, unsigned count);

// One best-effort workload on one cache, and its number of ways.
struct Slot {
  WayMask before;  // its present ways; empty: a new workload
  unsigned count = 0;
};

// A run for each slot, side by side from one end of `available.free`, which is one run. `slots` begin with those that
// have ways, from the highest down, and keep that order. Chooses the end from which fewer workloads move, because
// moving loses cached data; then the one that place_run() prefers.
std::vector<WayMask> pack_runs(const AvailableWays& available, const std::vector<Slot>& slots);

// The run for the OS: the longest one. Of equal runs the one with the OS floor, then with the fewest shareable ways,
// then the lowest.
WayMask os_run(WayMask unassigned, WayMask floor, WayMask shareable);

// One best-effort workload on one cache.
struct Demand {
  unsigned min = 0;
  unsigned max = 0;
  unsigned now = 0;  // its present number of ways; 0: a new workload
};

enum class Shrink { No, Yes };

// Distributes `available` ways: each gets at least its min and at most its max; with Shrink::No also at least what it
// has now. The remaining ways go one by one to the workload with the fewest. nullopt if they do not fit.
std::optional<std::vector<unsigned>> share_ways(unsigned available, const std::vector<Demand>& demands, Shrink shrink);

}  // namespace nrd::plan
