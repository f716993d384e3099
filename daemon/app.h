// The house, built from the ground up and taken down from the roof.
#pragma once

#include "base/result.h"
#include "daemon/config.h"

namespace nrd::daemon {

// Serves until SIGTERM or SIGINT. An error means that it could not start.
Result<void> run(const Config& config);

}  // namespace nrd::daemon
