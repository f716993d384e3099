// The library that a server says a command is to be started with: code that runs as whoever calls nrdctl.
//
// The answer is no reason to run it. It is taken where nrd itself would take it from (hw/onload/trusted_dir.h): a
// regular file libonload.so of root's, on whose path nobody else can write. Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/client.h"

namespace nrd::cli {

// BadRequest with why not.
Result<void> check_library(const std::string& path);
// The same of LD_PRELOAD as a server says it is to be: one library more in front of the caller's `own`, or just that.
Result<void> check_preload(const std::string& preload, const std::string& own);

// Who is root lets nobody decide what root runs who could have listened there as well: the Unix socket is root's, or
// the server shows a certificate. BadRequest otherwise.
Result<void> check_server(const Client& client);

}  // namespace nrd::cli
