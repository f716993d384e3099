// This process as an owner in API requests (api/v1/owner_json.h).
#pragma once

#include <string>

#include "base/result.h"
#include "cli/client.h"

namespace nrd::cli {

// {"caller":true} over the Unix socket: the kernel reports the process, also from inside a container. Otherwise PID
// and start time, so that nrd on another host or outside our container rejects a mismatch.
Result<std::string> this_process(const Client& client);
// Its number, as in the host's /proc.
Result<std::string> this_pid();

}  // namespace nrd::cli
