// nrd --reset: releases everything while no daemon is running.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "daemon/config.h"

namespace nrd::daemon {

// Deletes all workloads as DELETE /v1/workloads/{id} would, so that classes, CPUs, frequencies and groups return to
// their state before nrd. Returns the number of workloads. ErrorCode::Busy: a daemon is running.
Result<size_t> reset(const Config& config);

}  // namespace nrd::daemon
