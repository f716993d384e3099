// The house's front: which doors the configuration asks for, and who may come in by them.
#pragma once

#include <memory>

#include "api/http/server.h"
#include "api/v1/routes.h"
#include "base/result.h"
#include "daemon/config.h"

namespace nrd::daemon {

// Serves at once. Adopts the sockets that systemd passes.
Result<std::unique_ptr<http::Server>> open_front(const Config& config, v1::House house);

// Reads the files of TLS again if they have changed, or if it was asked for.
enum class Reload { IfChanged, Always };
void reload_tls(http::Server& server, Reload when);

}  // namespace nrd::daemon
