// Changes the memory nodes of a target that has processes. The kernel moves pages inside the write, so this takes
// seconds for each GB, and has its own connection to systemd. One call at a time, from any thread.
#pragma once

#include "base/result.h"
#include "hw/cpuset/memory.h"
#include "hw/cpuset/types.h"
#include "hw/cpuset/units.h"

namespace nrd::cpuset {

class MemoryMover {
 public:
  // Hardware: it has other nodes after the write. Success if the target has ended.
  Result<void> apply(const MemoryChange& change);

 private:
  Units units_;
  MemoryBinding memory_{units_};
};

}  // namespace nrd::cpuset
