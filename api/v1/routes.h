// Every path and method of the service: routes.cc has the table.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/message.h"
#include "api/v1/request_counters.h"
#include "api/v1/usage_cache.h"
#include "engine/long_poll.h"
#include "engine/onload/allocations.h"
#include "engine/onload/controller.h"
#include "engine/process_watcher.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {

struct Service {
  std::string version;
  bool debug_port_open = false;  // plain HTTP without authentication is being served; GET /v1/health says so
  std::function<std::string()> lock_holder = [] {
    return std::string();
  };  // process that holds the lock of the resctrl tree; empty: none
  std::shared_ptr<RequestCounters> counters = std::make_shared<RequestCounters>();  // of responses; counted() fills it
  std::shared_ptr<UsageCache> usage = std::make_shared<UsageCache>();
};

// What the route handlers use.
struct Services {
  Engine& engine;
  ProcessWatcher& owners;
  onload::Controller& onload;
  onload::Allocations& allocations;
  LongPoll& watchers;
};

// True if the request changes nothing: the user role may make it, and the audit log omits it. Includes some POSTs.
bool only_reads(std::string_view method, std::string_view path);

// A line of the table.
struct RouteName {
  std::string_view method;
  std::string_view pattern;  // "/v1/workloads/{id}"
};
size_t route_count();
RouteName route_name(size_t number);  // below route_count()
// The route of a request; nullopt if none matches.
std::optional<size_t> route_number(std::string_view method, std::string_view path);

// The handler for all routes. Everything in `services` must outlive it.
http::Handler routes(Services services, Service service);

}  // namespace nrd::v1
