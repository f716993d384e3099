// Joins the hardware rooms behind the engine's Hardware.
#pragma once

#include <memory>

#include "engine/hardware.h"

namespace nrd::daemon {

// Starts the rooms. A node that lacks a capability is not an error; the rooms say what is missing.
Result<std::unique_ptr<Hardware>> open_hardware();

}  // namespace nrd::daemon
