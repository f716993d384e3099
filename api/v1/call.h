// The arguments of a route handler: the request, the {id} and {level} of its path, and the services it uses.
#pragma once

#include <string>
#include <string_view>

#include "api/http/message.h"
#include "api/v1/content_negotiation.h"
#include "api/v1/response_cache.h"
#include "api/v1/routes.h"
#include "engine/long_poll.h"
#include "engine/onload/allocations.h"
#include "engine/onload/controller.h"
#include "engine/process_watcher.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {

// Cached responses of the resources that clients poll.
struct Bodies {
  using Render = std::string (*)(const NodeState&);
  Bodies(Render render_workloads, Render render_caches) : workloads(render_workloads), caches(render_caches) {}
  ResponseCache workloads;
  ResponseCache caches;
};

struct Call {
  const http::Request& request;
  std::string_view id;     // as written in the path, empty for a path without one
  std::string_view level;  // likewise
  ErrorStyle error_style;
  Engine& engine;
  ProcessWatcher& owners;
  onload::Controller& onload;
  onload::Allocations& allocations;
  LongPoll& watchers;
  const Service& service;
  Bodies& bodies;
};

}  // namespace nrd::v1
