// Implements the engine's Hardware interface with the hw/ modules.
#pragma once

#include <memory>

#include "engine/hardware.h"
#include "engine/pool_check.h"
#include "hw/rdt/mount.h"

namespace nrd::daemon {

// Starts the hardware modules. A missing capability is not an error; it is reported. A resctrl mount that differs from
// the configuration is an error.
Result<std::unique_ptr<Hardware>> open_hardware(const rdt::MountOptions& mount);

// What disturbs CPUs of this host. Any thread.
PoolCheck::Disturbances find_disturbances(const cpuset::CheckQuery& query);

}  // namespace nrd::daemon
