// The machine of a FakeHardware.
#pragma once

#include <cstdint>
#include <vector>

#include "base/way_mask.h"

namespace nrd::testing {

struct NodeShape {
  unsigned sockets = 2;
  unsigned cpus_per_socket = 8;
  unsigned ways = 11;
  unsigned classes = 16;
  unsigned min_ways = 1;
  WayMask shareable;
  unsigned cpus_per_domain = 1;       // of frequency
  std::vector<uint32_t> cache_ids{};  // of the sockets, or of what else shares a cache; empty: 0, 1, 2, …
  unsigned threads_per_core = 1;
  unsigned cpus_per_l2 = 0;  // 0: L2 caches are not allocated
  unsigned l2_ways = 16;
  bool sparse_masks = false;
};

}  // namespace nrd::testing
