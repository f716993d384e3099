// Changes the memory nodes of targets with processes, one at a time, on a thread of its own: the kernel moves pages
// inside the write.
//
// The end of this object does not wait for the kernel. The thread then ends with the process, or once the kernel has
// moved the pages, and its result is dropped: the next start makes the targets match the stored state.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "engine/hardware.h"

namespace nrd {

class MemoryWorker {
 public:
  // `ended` is called on the other thread when a change has ended; it must not block.
  MemoryWorker(ChangeMemory change, std::function<void()> ended);
  ~MemoryWorker() { abandon(); }
  MemoryWorker(const MemoryWorker&) = delete;
  MemoryWorker& operator=(const MemoryWorker&) = delete;

  // Started, and the result not taken.
  bool is_busy() const { return is_busy_; }
  void start(const cpuset::MemoryChange& change);
  bool has_ended() const;
  // nullopt: it has not ended.
  std::optional<Result<void>> take();
  // Returns when the change has ended, or at `until`.
  void wait(std::chrono::steady_clock::time_point until);
  // `ended` is not called any more.
  void abandon();

 private:
  // Of both threads: the other one may outlive this object.
  struct Shared {
    ChangeMemory change;
    std::mutex lock;
    std::condition_variable has_ended;
    std::function<void()> ended;           // guarded by lock
    std::optional<Result<void>> result{};  // guarded by lock
  };

  bool is_busy_ = false;
  std::shared_ptr<Shared> shared_;
};

}  // namespace nrd
