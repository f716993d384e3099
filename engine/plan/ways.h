// Which ways of one cache somebody gets. Pure arithmetic on masks; grant.h applies it to workloads.
#pragma once

#include <optional>
#include <vector>

#include "base/way_mask.h"

namespace nrd::plan {

// A run of `count` ways within `free` that holds as few ways of `avoid` (those that I/O fills too) as possible; of
// equal ones the highest, because the OS owns all that lies below the first way in use.
std::optional<WayMask> place_run(WayMask free, unsigned count, WayMask avoid);

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
