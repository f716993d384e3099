// nrd --reset and --unconfine: release everything, or what confines the rest of the host, while no daemon is running.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace nrd::daemon {

struct Config;

// Deletes all workloads as DELETE /v1/workloads/{id} would, so that classes, CPUs, frequencies and groups return to
// their state before nrd. Returns the number of workloads. ErrorCode::Busy: a daemon is running.
Result<size_t> reset(const Config& config);

// The rest of the host may use all CPUs again, until a daemon starts with cpu.confine. Workloads keep what they have.
Result<void> unconfine(const Config& config);

}  // namespace nrd::daemon
