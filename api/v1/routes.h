// Every path and method of the service: routes.cc has the table.
#pragma once

#include <string>

#include "api/http/message.h"
#include "engine/engine.h"
#include "engine/onload/keeper.h"

namespace nrd::v1 {

struct Service {
  std::string version;
  bool debug_port_open = false;  // plain HTTP without authentication is being served; GET /v1/health says so
};

// The handler of the whole service. `engine` and `onload` must outlive it.
http::Handler routes(Engine& engine, onload::Keeper& onload, Service service);

}  // namespace nrd::v1
