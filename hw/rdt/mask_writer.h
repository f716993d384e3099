// Writes the masks of classes of service: through libpqos (pqos.h) where it sees the same as resctrl, else through the
// files of resctrl (resctrl_writer.h). Both write the same, and both are read back.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/result.h"
#include "hw/rdt/write_order.h"

namespace nrd::rdt {

// A cache level.
struct Level {
  unsigned number = 3;  // 2 or 3
  bool cdp = false;     // write both masks, of code and of data
};

// Caches and classes as a writer sees them.
struct CacheView {
  std::set<uint32_t> l3;  // ids; empty where the level is not allocated
  std::set<uint32_t> l2;
  unsigned l3_ways = 0;
  unsigned l2_ways = 0;
  bool l3_cdp = false;
  bool l2_cdp = false;
  unsigned classes = 0;
  friend bool operator==(const CacheView&, const CacheView&) = default;
};

class MaskWriter {
 public:
  virtual ~MaskWriter() = default;
  virtual Result<void> set_ways(const Level& level, const WaysWrite& write) = 0;
};

}  // namespace nrd::rdt
