// The services of the handlers of Onload.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

#include "base/published.h"

namespace nrd::onload {
class Allocations;
class Controller;
}  // namespace nrd::onload

namespace nrd::v1 {

// The number of Onload users, refreshed by scrapes.
//
// Counting scans all processes, which is slow. So a scrape gets the last count and triggers a new one on the
// controller's thread, at most once per kInterval and one at a time.
class UsageCache : public std::enable_shared_from_this<UsageCache> {
 public:
  static constexpr std::chrono::seconds kInterval{10};
  struct Count {
    std::chrono::steady_clock::time_point at;
    size_t users = 0;    // processes, without Onload's own
    size_t stacks = 0;   // of running applications
    size_t orphans = 0;  // stacks whose applications have exited
  };

  // Any thread; never blocks. Null before the first count.
  std::shared_ptr<const Count> last(onload::Controller& controller);

 private:
  Published<Count> last_;
  std::atomic<bool> is_counting_ = false;
};

struct LaunchServices {
  onload::Controller& controller;
  onload::Allocations& allocations;
  std::shared_ptr<UsageCache> usage = std::make_shared<UsageCache>();
};

}  // namespace nrd::v1
