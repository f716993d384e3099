// Joins the hardware rooms behind the engine's Hardware.
#pragma once

#include <memory>

#include "engine/hardware.h"
#include "hw/rdt/mount.h"

namespace nrd::daemon {

// Starts the rooms. A node that lacks a capability is not an error; the rooms say what is missing. That resctrl is not
// mounted as is wished for is one.
Result<std::unique_ptr<Hardware>> open_hardware(const rdt::MountOptions& mount);

}  // namespace nrd::daemon
