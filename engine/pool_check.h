// Runs checks of pools one after the other on a thread of its own: each reads thousands of files.
#pragma once

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/client.h"
#include "base/work_queue.h"
#include "hw/cpuset/types.h"

namespace nrd {

class PoolCheck {
 public:
  using Disturbances = std::vector<cpuset::Disturbance>;
  using Find = std::function<Disturbances(const cpuset::CheckQuery&)>;

  explicit PoolCheck(Find find) : find_(std::move(find)), thread_([this] { queue_.run(); }) {}
  // Finishes the present check; the others get Busy.
  ~PoolCheck() {
    queue_.stop();
    thread_.join();
  }
  PoolCheck(const PoolCheck&) = delete;
  PoolCheck& operator=(const PoolCheck&) = delete;

  // Any thread. `done` is called by the check's thread, or here with Busy if too many checks wait.
  void run(const cpuset::CheckQuery& query, Callback<Disturbances> done) {
    queue_.change(std::move(done), [this, query]() -> Result<Disturbances> { return find_(query); });
  }

 private:
  Find find_;
  WorkQueue queue_{"checks of CPU pools", {.most = 64, .reserve = 16, .share = 4}};
  std::thread thread_;  // last: uses the members above
};

}  // namespace nrd
