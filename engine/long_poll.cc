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
  LongPoll::Tell tell;
  bool gives_way = false;  // is told next
};

// Is told `state`.
struct Due {
  LongPoll::Tell tell;
  std::shared_ptr<const NodeState> state;
};

class ThreadedWatchers final : public LongPoll {
 public:
  ThreadedWatchers() : thread_([this] { run(); }) {}
  ~ThreadedWatchers() override { end(); }

  void wait(const Client& client, const Engine& engine, std::shared_ptr<const NodeState> seen,
            std::chrono::milliseconds longest, Tell tell) override {
    std::unique_lock hold(lock_);
    if (is_stopping_) {
      hold.unlock();
      return tell(engine.state());
    }
    const Steady until = std::chrono::steady_clock::now() + longest;
    wait_beside(watchers_, Watcher{client, &engine, std::move(seen), until, std::move(tell)});
    ring();
  }

  void look() override {
    const std::lock_guard hold(lock_);
    if (!watchers_.empty()) ring();
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
      const std::vector<Due> due = take_due(is_last);
      hold.unlock();
      for (const Due& one : due) one.tell(one.state);
      hold.lock();
      if (is_last) return;
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

  // With the lock held: those whose time is up or who have not seen what there is now.
  std::vector<Due> take_due(bool is_last) {
    const Steady now = std::chrono::steady_clock::now();
    std::vector<Due> due;
    // One look at each pair of states, of which there are few, and not at each watcher.
    std::map<std::pair<const NodeState*, const NodeState*>, bool> looks;
    std::erase_if(watchers_, [&](Watcher& watcher) {
      std::shared_ptr<const NodeState> state = watcher.engine->state();
      const auto [look, is_new] = looks.try_emplace({watcher.seen.get(), state.get()}, true);
      if (is_new) look->second = shows_same(*watcher.seen, *state);
      if (!is_last && !watcher.gives_way && now < watcher.until && look->second) return false;
      due.push_back({std::move(watcher.tell), std::move(state)});
      return true;
    });
    return due;
  }

  std::mutex lock_;
  std::condition_variable wake_;
  std::vector<Watcher> watchers_;  // guarded by lock_
  bool rings_ = false;             // guarded by lock_
  bool is_stopping_ = false;       // guarded by lock_
  std::thread thread_;             // after what it uses
};

}  // namespace

std::unique_ptr<LongPoll> LongPoll::start() { return std::make_unique<ThreadedWatchers>(); }

}  // namespace nrd
