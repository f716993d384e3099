// Clients that wait for the workloads to change: long polls. No thread of the HTTP service waits with them.
//
// A watcher is told once: when the workloads, or whether they are applied, differ from what it has seen; when its time
// is up; or when the service stops. At most kMost wait at a time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/result.h"
#include "engine/engine.h"

namespace nrd {

class Watchers {
 public:
  static constexpr size_t kMost = 64;
  using Tell = std::function<void(const std::shared_ptr<const NodeState>&)>;

  static std::unique_ptr<Watchers> start();
  virtual ~Watchers() = default;

  // From any thread. `tell` is called on a thread of its own, once; `engine` must be there until stop(). Busy if too
  // many wait already: then `tell` is not called.
  virtual Result<void> wait(const Engine& engine, std::shared_ptr<const NodeState> seen,
                            std::chrono::milliseconds longest, Tell tell) = 0;
  // The engine has published; does not block.
  virtual void look() = 0;
  // Has told all who wait when it returns; whoever comes after that is told at once.
  virtual void stop() = 0;
};

}  // namespace nrd
