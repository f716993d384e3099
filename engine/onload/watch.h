// Those who wait for another revision of the status, a bounded number of them for a bounded time; where there are too
// many, one is answered early (base/wait_list.h).
//
// A thread of its own answers them, because the controller's may be in a step that takes seconds while their time ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/client.h"
#include "base/clock.h"
#include "base/published.h"
#include "engine/onload/status.h"

namespace nrd::onload {

class Watch {
 public:
  using Done = Callback<std::shared_ptr<const Status>>;

  // Both must outlive it. There must be a status already.
  Watch(const Published<Status>& views, const Clock& clock);
  // Who still waits gets the status as it is.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Any thread. Calls `done` with the status as soon as its revision is not `since` (here, if it is not now), or `wait`
  // has passed.
  void add(uint64_t since, std::chrono::seconds wait, Done done);
  // Another status was published.
  void changed();
  // Answers all, and from now on each at once.
  void end();

 private:
  using Steady = std::chrono::steady_clock::time_point;
  struct Waiter {
    uint64_t since = 0;
    Steady until;
    Done done;
    Client client;
    bool is_evicted = false;  // is answered next
  };

  void run() noexcept;
  // Those who have waited long enough, and when to look again.
  std::vector<Waiter> take_due(uint64_t revision, Steady& next);

  const Published<Status>& views_;
  const Clock& clock_;
  std::mutex lock_;
  std::condition_variable wake_;
  std::vector<Waiter> waiting_;  // guarded by lock_
  bool has_changed_ = false;     // guarded by lock_; or somebody gives plan
  bool ended_ = false;           // guarded by lock_
  bool stopping_ = false;        // guarded by lock_
  std::thread thread_;
};

}  // namespace nrd::onload
