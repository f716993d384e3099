// Runs checks of pools one after the other on a thread of its own: each reads thousands of files.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/client.h"
#include "base/fair_queue.h"
#include "hw/cpuset/types.h"

namespace nrd {

class PoolCheck {
 public:
  using Disturbances = std::vector<cpuset::Disturbance>;
  using Find = std::function<Disturbances(const cpuset::CheckQuery&)>;

  explicit PoolCheck(Find find);
  ~PoolCheck();  // finishes the present check; the others get Busy
  PoolCheck(const PoolCheck&) = delete;
  PoolCheck& operator=(const PoolCheck&) = delete;

  // Any thread. `done` is called by the check's thread, or here with Busy if too many checks wait.
  void run(const cpuset::CheckQuery& query, Callback<Disturbances> done);

 private:
  struct Waiting {
    cpuset::CheckQuery query;
    Callback<Disturbances> done;
  };

  void work() noexcept;

  Find find_;
  std::mutex lock_;
  std::condition_variable wake_;
  FairQueue<Waiting> queue_{{.most = 64, .reserve = 16, .share = 4}};  // guarded by lock_
  bool is_stopping_ = false;                                           // guarded by lock_
  std::thread thread_;                                                 // last: uses the members above
};

}  // namespace nrd
