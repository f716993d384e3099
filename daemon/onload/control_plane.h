// The control plane's servers: programs that the module onload starts, one for each network namespace. The one of the
// first namespace comes with the module, and again when a parameter of its command line changes while there is no
// stack.
//
// `root` is empty but in tests.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/onload/host.h"
#include "hw/onload/types.h"

namespace nrd::daemon {

// How long the module waits for the first one; nullopt: it starts none by itself.
std::optional<std::chrono::seconds> patience_for_server(const onload::Module& module);

// From now on the module starts none. Nothing without the module.
onload::Acted stop_spawning(const std::string& root);
// Ends all of them, and those of `services` that are like them and that the module has no list of.
onload::Acted stop_servers(const std::string& root, const std::vector<onload::User>& services);
// Sets a parameter of the module onload. If that has the module start a server, returns when it is there and whom it
// replaces is gone: a change before that would start a second one.
onload::Acted set_onload_parameter(const std::string& root, const std::string& parameter, const std::string& value,
                                   const Clock& clock);

}  // namespace nrd::daemon
