// Long polling of the Onload status, with a limited number of waiters and limited time; beyond the limit, one waiter is
// answered early (base/wait_list.h).
//
// Runs its own thread, because the controller's may be busy for seconds when a waiter's time ends.
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

  // Both must outlive it. A status must have been published.
  Watch(const Published<Status>& views, const Clock& clock);
  // Answers remaining waiters with the current status.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Any thread. Calls `done` with the status once its revision differs from `since` (at once, if it does now), or after
  // `wait`.
  void add(uint64_t since, std::chrono::seconds wait, Done done);
  // Call after publishing a status.
  void changed();
  // Answers all waiters, and later ones at once.
  void end();

 private:
  using Steady = std::chrono::steady_clock::time_point;
  struct Waiter {
    uint64_t since = 0;
    Steady until;
    Done done;
    Client client;
    bool is_evicted = false;  // to be answered next
  };

  void run() noexcept;
  // Removes waiters that are due; `next`: when the next one is.
  std::vector<Waiter> take_due(uint64_t revision, Steady& next);

  const Published<Status>& views_;
  const Clock& clock_;
  std::mutex lock_;
  std::condition_variable wake_;
  std::vector<Waiter> waiting_;  // guarded by lock_
  bool has_changed_ = false;     // guarded by lock_; also set when a waiter must make room
  bool ended_ = false;           // guarded by lock_
  bool stopping_ = false;        // guarded by lock_
  std::thread thread_;
};

}  // namespace nrd::onload
