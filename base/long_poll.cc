#include "base/long_poll.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/wait_list.h"

namespace nrd {

LongPoll::LongPoll(const char* name, const Clock& clock) : clock_(clock), thread_([this, name] { run(name); }) {}

LongPoll::~LongPoll() { stop(); }

void LongPoll::wait(const Client& client, std::chrono::milliseconds longest, std::function<bool()> has_news,
                    std::function<void()> answer) {
  {
    const std::lock_guard hold(lock_);
    if (!is_stopping_ && !has_news()) {
      const auto until = clock_.steady() + longest;
      add_waiter(waiting_, Waiter{client, until, std::move(has_news), std::move(answer)});
      is_notified_ = true;
      wake_.notify_one();
      return;
    }
  }
  answer();
}

void LongPoll::notify() {
  const std::lock_guard hold(lock_);
  is_notified_ = true;
  wake_.notify_one();
}

void LongPoll::stop() {
  {
    const std::lock_guard hold(lock_);
    is_stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

std::vector<LongPoll::Waiter> LongPoll::take_due() {
  const auto now = clock_.steady();
  const auto stays = [&](const Waiter& waiter) {
    return !is_stopping_ && !waiter.is_evicted && now < waiter.until && !waiter.has_news();
  };
  const auto first_due = std::stable_partition(waiting_.begin(), waiting_.end(), stays);
  std::vector<Waiter> due(std::make_move_iterator(first_due), std::make_move_iterator(waiting_.end()));
  waiting_.erase(first_due, waiting_.end());
  return due;
}

void LongPoll::run(const char* name) noexcept {
  ::pthread_setname_np(::pthread_self(), name);
  std::unique_lock hold(lock_);
  for (;;) {
    is_notified_ = false;
    const bool is_last = is_stopping_;
    const std::vector<Waiter> due = take_due();
    if (!due.empty()) {
      hold.unlock();
      for (const Waiter& waiter : due) waiter.answer();
      hold.lock();
    }
    if (is_last) return;
    const auto next = std::ranges::min_element(waiting_, {}, &Waiter::until);
    const auto is_awake = [this] { return is_notified_ || is_stopping_; };
    if (next == waiting_.end()) {
      wake_.wait(hold, is_awake);
    } else {
      wake_.wait_until(hold, std::chrono::steady_clock::time_point(next->until), is_awake);
    }
  }
}

}  // namespace nrd
