// Starts all components bottom-up, runs the daemon, and stops them in reverse order.
#pragma once

#include "base/result.h"

namespace nrd::daemon {

struct Options;

// Serves until SIGTERM or SIGINT. An error means that the daemon could not start.
Result<void> run(const Options& options);

}  // namespace nrd::daemon
