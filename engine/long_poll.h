// Long polls: clients that wait for the workloads to change. They block no thread of the HTTP service.
//
// A watcher is answered once: when the workloads, or whether they are applied, differ from what it has seen; on
// timeout; when it is evicted (base/wait_list.h); or when the service stops.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/client.h"
#include "engine/transaction/engine.h"

namespace nrd {

class LongPoll {
 public:
  using Callback = std::function<void(const std::shared_ptr<const NodeState>&)>;

  static std::unique_ptr<LongPoll> start();
  virtual ~LongPoll() = default;

  // From any thread. Calls `callback` once, on the long-poll thread; `engine` must exist until stop().
  virtual void wait(const Client& client, const Engine& engine, std::shared_ptr<const NodeState> seen,
                    std::chrono::milliseconds longest, Callback callback) = 0;
  // Call after the engine has published; does not block.
  virtual void notify() = 0;
  // Answers all watchers before it returns; later ones are answered at once.
  virtual void stop() = 0;
};

}  // namespace nrd
