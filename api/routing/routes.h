// Every path and method of the service: routes.cc has the table, but for those of launch_routes().
#pragma once

#include "api/http/message.h"
#include "api/routing/call.h"
#include "api/routing/router.h"

namespace nrd::routing {

RouteTable route_table();

// The handler for all routes. Everything in `services` must outlive it.
http::Handler routes(Services services, ServiceInfo info);

}  // namespace nrd::routing
