// Clients that wait for the workloads to change: long polls. No thread of the HTTP service waits with them.
//
// A watcher is told once: when the workloads, or whether they are applied, differ from what it has seen; when its time
// is up, or too many wait (base/wait_list.h); or when the service stops.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/client.h"
#include "engine/transaction/engine.h"

namespace nrd {

class LongPoll {
 public:
  using Tell = std::function<void(const std::shared_ptr<const NodeState>&)>;

  static std::unique_ptr<LongPoll> start();
  virtual ~LongPoll() = default;

  // From any thread. `tell` is called on a thread of its own, once; `engine` must be there until stop().
  virtual void wait(const Client& client, const Engine& engine, std::shared_ptr<const NodeState> seen,
                    std::chrono::milliseconds longest, Tell tell) = 0;
  // The engine has published; does not block.
  virtual void look() = 0;
  // Has told all who wait when it returns; whoever comes after that is told at once.
  virtual void stop() = 0;
};

}  // namespace nrd
