// Long polls of the workloads and of the node's capacity. News is a difference in the workloads, or in whether they are
// applied; or another capacity.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/client.h"
#include "base/clock.h"
#include "base/long_poll.h"
#include "engine/model/fwd.h"

namespace nrd {

class Engine;

class WorkloadPoll {
 public:
  explicit WorkloadPoll(const Clock& clock) : poll_("nrd-watchers", clock) {}

  // From any thread. Calls `answer` once; `engine` must exist until stop().
  void wait(const Client& client, const Engine& engine, std::shared_ptr<const NodeState> seen,
            std::chrono::milliseconds longest, std::function<void(const std::shared_ptr<const NodeState>&)> answer);
  // Likewise, once `is_due` of the state.
  void wait_until(const Client& client, const Engine& engine, std::function<bool(const NodeState&)> is_due,
                  std::chrono::milliseconds longest,
                  std::function<void(const std::shared_ptr<const NodeState>&)> answer);
  void notify() { poll_.notify(); }
  void stop() { poll_.stop(); }

 private:
  bool shows_same(const std::shared_ptr<const NodeState>& seen, const std::shared_ptr<const NodeState>& now);

  // The last comparison: most clients have seen the same state. Guarded by the lock of `poll_`.
  struct Comparison {
    std::shared_ptr<const NodeState> seen, now;
    bool is_same = true;
  };
  Comparison last_;
  LongPoll poll_;  // last: its thread uses the member above
};

}  // namespace nrd
