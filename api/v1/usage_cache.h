// How many use Onload, counted while somebody scrapes.
//
// To count them all processes are looked at, which takes a while. So whoever asks gets what was counted last, and the
// controller's thread counts anew for the next time: not more often than kInterval, and not while it counts already.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

#include "base/published.h"
#include "engine/onload/controller.h"

namespace nrd::v1 {

class UsageCache : public std::enable_shared_from_this<UsageCache> {
 public:
  static constexpr std::chrono::seconds kInterval{10};
  struct Count {
    std::chrono::steady_clock::time_point at;
    size_t users = 0;    // processes, but for those of Onload itself
    size_t stacks = 0;   // of applications that live
    size_t orphans = 0;  // stacks whose applications are gone
  };

  // Any thread; never waits. Null: nothing was counted yet.
  std::shared_ptr<const Count> last(onload::Controller& controller);

 private:
  Published<Count> last_;
  std::atomic<bool> is_counting_ = false;
};

}  // namespace nrd::v1
