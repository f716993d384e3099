// nrd --reset: gives everything back while no daemon runs.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "daemon/config.h"

namespace nrd::daemon {

// Deletes all workloads as DELETE /v1/workloads/{id} would, so that classes, CPUs, frequencies and groups are as they
// were before nrd. The answer is how many there were. ErrorCode::Busy: a daemon runs, which has to be asked itself.
Result<size_t> reset(const Config& config);

}  // namespace nrd::daemon
