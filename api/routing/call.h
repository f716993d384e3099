// The arguments of a route handler: the request, the {id} and {level} of its path, and the services it uses.
//
// Services are declared here and not included: a handler includes those that it uses.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/message.h"
#include "api/routing/content_negotiation.h"

namespace nrd {
class Engine;
class PoolCheck;
class OwnerWatcher;
class WorkloadPoll;
class WorkloadService;
}  // namespace nrd

namespace nrd::v1 {
struct Bodies;
class ConfigService;
struct LaunchServices;
}  // namespace nrd::v1

namespace nrd::routing {

class RequestCounters;

struct Services {
  Engine& engine;
  const WorkloadService& workloads;
  OwnerWatcher& owners;
  v1::LaunchServices* launch;  // null if nrd is built without them: then no route needs them
  WorkloadPoll& poll;
  v1::ConfigService& config;
  PoolCheck& checks;
};

// One sentence for each problem.
using Sentences = std::function<std::shared_ptr<const std::vector<std::string>>()>;

// Facts about this process that it serves.
struct ServiceInfo {
  std::string version;
  bool debug_port_open = false;  // plain HTTP without authentication is being served; GET /v1/health says so
  std::function<std::string()> lock_holder = [] {
    return std::string();
  };  // process that holds the lock of the resctrl tree; empty: none
  Sentences declared_problems = [] { return std::make_shared<const std::vector<std::string>>(); };
  std::shared_ptr<RequestCounters> counters;  // of responses; counted() fills it
  // Earliest end of the validity of a certificate of [tls] in seconds since the epoch; 0: no TLS.
  std::shared_ptr<const std::atomic<int64_t>> certificate_expiry{};
};

struct Call : Services {
  const ServiceInfo& service;
  v1::Bodies& bodies;
  const http::Request& request;
  std::string_view id;     // as written in the path, empty for a path without one
  std::string_view level;  // likewise
  ErrorStyle error_style;
};

}  // namespace nrd::routing
