#include "engine/long_poll.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/wait_list.h"

namespace nrd {
namespace {

using Steady = std::chrono::steady_clock::time_point;

bool shows_same(const NodeState& a, const NodeState& b) {
  if (a.workloads != b.workloads) return false;
  return std::ranges::all_of(
      a.workloads, [&](const auto& entry) { return is_applied(a, entry.second) == is_applied(b, entry.second); });
}

struct Watcher {
  Client client;
  const Engine* engine = nullptr;
  std::shared_ptr<const NodeState> seen;
  Steady until;
  LongPoll::Callback callback;
  bool is_evicted = false;  // answered next
};

// A callback and the state to call it with.
struct Due {
  LongPoll::Callback callback;
  std::shared_ptr<const NodeState> state;
};

class ThreadedLongPoll final : public LongPoll {
 public:
  ThreadedLongPoll() : thread_([this] { run(); }) {}
  ~ThreadedLongPoll() override { end(); }

  void wait(const Client& client, const Engine& engine, std::shared_ptr<const NodeState> seen,
            std::chrono::milliseconds longest, Callback callback) override {
    std::unique_lock hold(lock_);
    if (is_stopping_) {
      hold.unlock();
      return callback(engine.state());
    }
    const Steady until = std::chrono::steady_clock::now() + longest;
    add_waiter(watchers_, Watcher{client, &engine, std::move(seen), until, std::move(callback)});
    wake();
  }

  void notify() override {
    const std::lock_guard hold(lock_);
    if (!watchers_.empty()) wake();
  }

  void stop() override { end(); }

 private:
  void end() {
    {
      const std::lock_guard hold(lock_);
      is_stopping_ = true;
      wake();
    }
    if (thread_.joinable()) thread_.join();
  }

  // With the lock held.
  void wake() {
    is_notified_ = true;
    wake_.notify_one();
  }

  void run() noexcept {
    ::pthread_setname_np(::pthread_self(), "nrd-watchers");
    std::unique_lock hold(lock_);
    for (;;) {
      is_notified_ = false;
      const bool is_last = is_stopping_;
      const std::vector<Due> due = take_due(is_last);
      hold.unlock();
      for (const Due& one : due) one.callback(one.state);
      hold.lock();
      if (is_last) return;
      if (!is_notified_) sleep(hold);
    }
  }

  void sleep(std::unique_lock<std::mutex>& hold) {
    const auto next = std::ranges::min_element(watchers_, {}, &Watcher::until);
    if (next == watchers_.end()) {
      wake_.wait(hold, [this] { return is_notified_; });
    } else {
      wake_.wait_until(hold, Steady(next->until), [this] { return is_notified_; });
    }
  }

  // With the lock held: watchers that timed out, were evicted, or have not seen the present state.
  std::vector<Due> take_due(bool is_last) {
    const Steady now = std::chrono::steady_clock::now();
    std::vector<Due> due;
    // Compares each pair of states once: there are few pairs and many watchers.
    std::map<std::pair<const NodeState*, const NodeState*>, bool> comparisons;
    std::erase_if(watchers_, [&](Watcher& watcher) {
      std::shared_ptr<const NodeState> state = watcher.engine->state();
      const auto [comparison, is_new] = comparisons.try_emplace({watcher.seen.get(), state.get()}, true);
      if (is_new) comparison->second = shows_same(*watcher.seen, *state);
      if (!is_last && !watcher.is_evicted && now < watcher.until && comparison->second) return false;
      due.push_back({std::move(watcher.callback), std::move(state)});
      return true;
    });
    return due;
  }

  std::mutex lock_;
  std::condition_variable wake_;
  std::vector<Watcher> watchers_;  // guarded by lock_
  bool is_notified_ = false;       // guarded by lock_
  bool is_stopping_ = false;       // guarded by lock_
  std::thread thread_;             // last: uses the members above
};

}  // namespace

std::unique_ptr<LongPoll> LongPoll::start() { return std::make_unique<ThreadedLongPoll>(); }

}  // namespace nrd
