// The mount of resctrl itself, which decides in what memory bandwidth is given: in percent, or in MB/s (mba_MBps).
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

struct MountOptions {
  mode_t tree_mode = 0700;      // of the mounted tree, while it has the kernel's own (locks.h); 0555: stays
  std::optional<MbaUnit> unit;  // Percent or Mbps; nullopt: as it is mounted
  bool may_remount = false;     // mounts it anew if it is otherwise, which empties every class; else that is an error
  friend bool operator==(const MountOptions&, const MountOptions&) = default;
};

// Before libpqos starts, which mounts the tree in percent if it is not mounted. Other options of the mount (cdp) stay.
// A tree with foreign groups is never unmounted. AMD's parts have one unit of their own, so there the wish is ignored.
// Where the host would not see the mount (mount_namespace.h) nothing is mounted or unmounted; the error says how to
// change the options of the mount unit.
Result<void> ensure_mounted_as(const MountOptions& wish);

// Before each start of libpqos, which would mount an unmounted tree: an error where the host would not see that mount.
Result<void> check_mount();

}  // namespace nrd::rdt
