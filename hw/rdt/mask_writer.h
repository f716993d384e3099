// Writes the masks of classes of service: through libpqos (pqos.h) where it sees the same as resctrl, else through the
// files of resctrl (resctrl_writer.h). Both write the same, and both are read back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "hw/rdt/write_order.h"

namespace nrd::rdt {

// Caches and classes as a writer sees them.
struct CacheView {
  struct Level {
    std::set<uint32_t> ids;
    unsigned ways = 0;
    bool cdp = false;
    friend bool operator==(const Level&, const Level&) = default;
  };
  std::map<unsigned, Level, std::greater<>> levels;  // those that are allocated
  unsigned classes = 0;
  friend bool operator==(const CacheView&, const CacheView&) = default;
};

class MaskWriter {
 public:
  virtual ~MaskWriter() = default;
  // `cdp`: write both masks, of code and of data.
  virtual Result<void> set_ways(const WaysWrite& write, bool cdp) = 0;
};

}  // namespace nrd::rdt
