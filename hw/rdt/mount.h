// The mount of resctrl itself, which decides in what memory bandwidth is given: in percent, or in MB/s (mba_MBps).
#pragma once

#include <optional>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

struct MountWish {
  std::optional<MbaUnit> unit;  // Percent or Mbps; nullopt: as it is mounted
  bool may_remount = false;     // mounts it anew if it is otherwise, which empties every class; else that is an error
  friend bool operator==(const MountWish&, const MountWish&) = default;
};

// Before libpqos starts, which mounts the tree in percent if nobody has. What else it was mounted with (cdp) stays. A
// group of others is never unmounted. On AMD's parts, which have one unit of their own, there is nothing to wish.
Result<void> ensure_mounted_as(const MountWish& wish);

}  // namespace nrd::rdt
