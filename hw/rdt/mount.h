// Mounting resctrl, which decides the unit of memory bandwidth: percent, or MB/s (mba_MBps).
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/result.h"

namespace nrd::rdt {

enum class MbaUnit;

struct MountOptions {
  mode_t tree_mode = 0700;      // of the mounted tree, while it has the kernel's default (locks.h); 0555: unchanged
  std::optional<MbaUnit> unit;  // Percent or Mbps; nullopt: as it is mounted
  bool may_remount = false;     // remount if the unit differs, which empties every class; else that is an error
  friend bool operator==(const MountOptions&, const MountOptions&) = default;
};

// Call before libpqos starts, which mounts an unmounted tree in percent. Keeps other options of the mount (cdp). Never
// unmounts a tree with foreign groups. AMD CPUs have one fixed unit, so `unit` is ignored there. Where the host would
// not see the mount (mount_namespace.h) nothing is mounted or unmounted; the error says how to change the options of
// the mount unit.
Result<void> ensure_mounted_as(const MountOptions& wanted);

// Call before each start of libpqos, which would mount an unmounted tree: an error where the host would not see that
// mount.
Result<void> check_mount();

}  // namespace nrd::rdt
