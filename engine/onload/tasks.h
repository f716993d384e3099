// What other threads ask a thread to do, in order and bounded. Each is answered exactly once: with what came of it, or
// that there is too much of it, or that the thread stops.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/result.h"

namespace nrd::onload {

class Tasks {
 public:
  using Steady = std::chrono::steady_clock::time_point;
  enum class Turn { Work, Refuse };
  using Task = std::function<void(Turn)>;

  // Any thread. `done` is called by whoever serves the task, or here if there is no room.
  template <typename T, typename Work>
  void submit(std::function<void(Result<T>)> done, Work work) {
    {
      const std::lock_guard hold(lock_);
      if (!stopping_ && tasks_.size() < kMost) {
        tasks_.push_back([done = std::move(done), work = std::move(work)](Turn turn) {
          done(turn == Turn::Work ? work() : Result<T>(fail(ErrorCode::Busy, "nrd stops")));
        });
        wake_.notify_one();
        return;
      }
    }
    done(fail(ErrorCode::Busy, "too much is asked about Onload at once; try again"));
  }

  // Any thread: from now on there is no next one.
  void stop() {
    {
      const std::lock_guard hold(lock_);
      stopping_ = true;
    }
    wake_.notify_one();
  }

  bool stopping() const {
    const std::lock_guard hold(lock_);
    return stopping_;
  }

  // The thread's own. nullopt: it stops, or `until` has come and there was none.
  std::optional<Task> next(Steady until) {
    std::unique_lock hold(lock_);
    wake_.wait_until(hold, until, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_ || tasks_.empty()) return std::nullopt;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  // The thread's own: all that wait, once there is one; those that come meanwhile are the next turn's. So a turn has an
  // end, however fast somebody asks again. Empty: it stops, or `until` has come and there was none.
  std::deque<Task> take(Steady until) {
    std::unique_lock hold(lock_);
    wake_.wait_until(hold, until, [this] { return stopping_ || !tasks_.empty(); });
    std::deque<Task> taken;
    if (!stopping_) taken.swap(tasks_);
    return taken;
  }

  void refuse_all() {
    std::deque<Task> left;
    {
      const std::lock_guard hold(lock_);
      left.swap(tasks_);
    }
    for (const Task& task : left) task(Turn::Refuse);
  }

 private:
  static constexpr size_t kMost = 64;

  mutable std::mutex lock_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;  // guarded by lock_
  bool stopping_ = false;   // guarded by lock_
};

}  // namespace nrd::onload
