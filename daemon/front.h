// The house's front: which doors the configuration asks for, and who may come in by them.
#pragma once

#include <memory>

#include "api/http/server.h"
#include "base/result.h"
#include "daemon/config.h"
#include "engine/engine.h"
#include "engine/onload/keeper.h"

namespace nrd::daemon {

// Serves at once. Adopts the sockets that systemd passes.
Result<std::unique_ptr<http::Server>> open_front(const Config& config, Engine& engine, onload::Keeper& onload);

// Reads the files of TLS again if they have changed, or if it was asked for.
enum class Reload { IfChanged, Always };
void reload_tls(http::Server& server, Reload when);

}  // namespace nrd::daemon
