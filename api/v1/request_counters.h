// How often each route was answered with which status, since start: for the metrics.
//
// Routes are those of the table and statuses those that are answered here, so what is told of them is bounded whatever
// clients ask for. Any thread may count and read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/message.h"

namespace nrd::v1 {

class RequestCounters {
 public:
  struct Count {
    std::string method;  // "other" for a request that no route knows
    std::string route;   // "/v1/workloads/{id}"; "none"
    std::string status;  // "200"; "other"
    uint64_t answers = 0;
  };

  RequestCounters();
  void count(std::string_view method, std::string_view path, int status);
  // Those that are not 0, in the order of the table.
  std::vector<Count> counts() const;
  std::chrono::steady_clock::time_point start() const { return start_; }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<std::atomic<uint64_t>> answers_;  // by route, then status
};

// `inside`, with each of its answers counted.
http::Handler counted(std::shared_ptr<RequestCounters> counters, http::Handler inside);

}  // namespace nrd::v1
