// Responses since startup by route and status code, for the metrics.
//
// The size is bounded by the route table and the known status codes, whatever clients request. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/message.h"
#include "api/routing/router.h"

namespace nrd::routing {

class RequestCounters {
 public:
  struct Count {
    std::string method;  // "other" for a request without a route
    std::string route;   // "/v1/workloads/{id}"; "none"
    std::string status;  // "200"; "other"
    uint64_t answers = 0;
  };

  explicit RequestCounters(RouteTable table);
  void count(std::string_view method, std::string_view path, int status);
  // The non-zero counts, in the order of the route table.
  std::vector<Count> counts() const;
  std::chrono::steady_clock::time_point start() const { return start_; }
  // The same in seconds since the epoch.
  double start_time() const { return std::chrono::duration<double>(start_time_.time_since_epoch()).count(); }

 private:
  const RouteTable table_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const std::chrono::system_clock::time_point start_time_ = std::chrono::system_clock::now();
  std::vector<std::atomic<uint64_t>> answers_;  // by route, then status
};

// Wraps `inside` and counts its responses.
http::Handler counted(std::shared_ptr<RequestCounters> counters, http::Handler inside);

}  // namespace nrd::routing
