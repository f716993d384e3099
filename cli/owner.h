// This process, as nrd is told whose something is to be (api/v1/owner_json.h).
#pragma once

#include <string>

#include "base/result.h"
#include "cli/client.h"

namespace nrd::cli {

// {"caller":true} over the Unix socket: the kernel tells nrd who calls, also from within a container. Else number and
// start, so that nrd on another host, or outside of our container, takes nobody else for us and refuses.
Result<std::string> this_process(const Client& client);

}  // namespace nrd::cli
