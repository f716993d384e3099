// Checks whether the server may choose code that will run as the calling user.
#pragma once

#include "base/result.h"
#include "cli/client.h"

namespace nrd::cli {

// Root accepts code to run only from a server that is authenticated: a Unix socket owned by root, or a server with a
// certificate. BadRequest otherwise.
Result<void> check_server(const Client& client);

}  // namespace nrd::cli
