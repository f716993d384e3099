// The node for Onload operations: implements the engine's Host with hw/onload. Controller thread only.
#pragma once

#include <memory>

#include "base/clock.h"
#include "daemon/onload/launch_config.h"
#include "engine/onload/host.h"
#include "hw/onload/types.h"

namespace nrd::daemon {

// `devices`: access of the device nodes while open. Removes leftovers of interrupted imports. `clock` must outlive it.
std::unique_ptr<onload::Host> open_onload_host(const LaunchConfig& config, const onload::Access& devices,
                                               const Clock& clock);

}  // namespace nrd::daemon
