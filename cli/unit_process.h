// The main process of a systemd service, which systemd knows (D-Bus property MainPID).
#pragma once

#include <string>

#include "base/result.h"

namespace nrd::cli {

// "feed.service", "feed@1.service"
bool is_service(const std::string& name);
// Its process ID; NotFound if the service does not run.
Result<std::string> main_process_of(const std::string& service);

}  // namespace nrd::cli
