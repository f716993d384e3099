#include "engine/watchers.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace nrd {
namespace {

using Steady = std::chrono::steady_clock::time_point;

bool shows_same(const NodeState& a, const NodeState& b) {
  if (a.workloads != b.workloads) return false;
  return std::ranges::all_of(
      a.workloads, [&](const auto& entry) { return is_applied(a, entry.second) == is_applied(b, entry.second); });
}

struct Watcher {
  const Engine* engine = nullptr;
  std::shared_ptr<const NodeState> seen;
  Steady until;
  Watchers::Tell tell;
};

class ThreadedWatchers final : public Watchers {
 public:
  ThreadedWatchers() : thread_([this] { run(); }) {}
  ~ThreadedWatchers() override { end(); }

  Result<void> wait(const Engine& engine, std::shared_ptr<const NodeState> seen, std::chrono::milliseconds longest,
                    Tell tell) override {
    std::unique_lock hold(lock_);
    if (is_stopping_) {
      hold.unlock();
      tell(engine.state());
      return {};
    }
    if (count_ >= kMost) return fail(ErrorCode::Busy, "too many clients wait for a change; try again");
    ++count_;
    watchers_.push_back({&engine, std::move(seen), std::chrono::steady_clock::now() + longest, std::move(tell)});
    ring();
    return {};
  }

  void look() override {
    const std::lock_guard hold(lock_);
    if (count_ > 0) ring();
  }

  void stop() override { end(); }

 private:
  void end() {
    {
      const std::lock_guard hold(lock_);
      is_stopping_ = true;
      ring();
    }
    if (thread_.joinable()) thread_.join();
  }

  // With the lock held.
  void ring() {
    rings_ = true;
    wake_.notify_one();
  }

  void run() noexcept {
    ::pthread_setname_np(::pthread_self(), "nrd-watchers");
    std::unique_lock hold(lock_);
    for (;;) {
      rings_ = false;
      const bool is_last = is_stopping_;
      std::vector<Watcher> watchers = std::exchange(watchers_, {});
      hold.unlock();
      const size_t told = tell(watchers, is_last);
      hold.lock();
      count_ -= told;
      std::ranges::move(watchers, std::back_inserter(watchers_));
      if (is_last && watchers_.empty()) return;
      if (!rings_) sleep(hold);
    }
  }

  void sleep(std::unique_lock<std::mutex>& hold) {
    const auto next = std::ranges::min_element(watchers_, {}, &Watcher::until);
    if (next == watchers_.end()) {
      wake_.wait(hold, [this] { return rings_; });
    } else {
      wake_.wait_until(hold, Steady(next->until), [this] { return rings_; });
    }
  }

  // Takes those out that are told; how many they were.
  static size_t tell(std::vector<Watcher>& watchers, bool is_last) {
    const Steady now = std::chrono::steady_clock::now();
    return std::erase_if(watchers, [&](const Watcher& watcher) {
      const std::shared_ptr<const NodeState> state = watcher.engine->state();
      if (!is_last && now < watcher.until && shows_same(*watcher.seen, *state)) return false;
      watcher.tell(state);
      return true;
    });
  }

  std::mutex lock_;
  std::condition_variable wake_;
  std::vector<Watcher> watchers_;  // guarded by lock_
  size_t count_ = 0;               // guarded by lock_; with those that are being looked at
  bool rings_ = false;             // guarded by lock_
  bool is_stopping_ = false;       // guarded by lock_
  std::thread thread_;             // after what it uses
};

}  // namespace

std::unique_ptr<Watchers> Watchers::start() { return std::make_unique<ThreadedWatchers>(); }

}  // namespace nrd
