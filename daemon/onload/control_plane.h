// The control plane servers: processes that the module onload starts, one per network namespace. The server of the
// first namespace starts with the module, and again when a parameter of its command line changes while there is no
// stack.
//
// `root` is empty except in tests.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/onload/host.h"
#include "hw/onload/types.h"

namespace nrd::daemon {

// How long the module waits for the first server; nullopt: it starts none by itself.
std::optional<std::chrono::seconds> server_timeout(const onload::Module& module);

// Stops the module from starting servers. No effect without the module.
onload::Acted stop_spawning(const std::string& root);
// Ends all servers, and similar processes in `services` that the module does not list.
onload::Acted stop_servers(const std::string& root, const std::vector<onload::User>& services);
// Sets a parameter of the module onload. If the module then starts a server, returns once it runs and the previous one
// is gone: an earlier change would start a second server.
onload::Acted set_onload_parameter(const std::string& root, const std::string& parameter, const std::string& value,
                                   const Clock& clock);

}  // namespace nrd::daemon
