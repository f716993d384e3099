#include "engine/onload/watch.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/wait_list.h"

namespace nrd::onload {

Watch::Watch(const Published<Status>& views, const Clock& clock) : views_(views), clock_(clock) {
  thread_ = std::thread([this] { run(); });
}

Watch::~Watch() {
  end();
  {
    const std::lock_guard hold(lock_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Watch::add(uint64_t since, std::chrono::seconds wait, Done done) {
  std::unique_lock hold(lock_);
  if (views_.get()->revision != since || ended_) {
    hold.unlock();
    return done(views_.get());
  }
  const Client client = done.client();
  add_waiter(waiting_, {since, clock_.steady() + wait, std::move(done), client});
  has_changed_ = true;
  wake_.notify_one();
}

void Watch::changed() {
  {
    const std::lock_guard hold(lock_);
    has_changed_ = true;
  }
  wake_.notify_one();
}

void Watch::end() {
  {
    const std::lock_guard hold(lock_);
    ended_ = true;
    has_changed_ = true;
  }
  wake_.notify_one();
}

std::vector<Watch::Waiter> Watch::take_due(uint64_t revision, Steady& next) {
  const Steady now = clock_.steady();
  const auto stays = [&](const Waiter& waiter) {
    return !ended_ && !waiter.is_evicted && waiter.since == revision && waiter.until > now;
  };
  const auto first_due = std::stable_partition(waiting_.begin(), waiting_.end(), stays);
  std::vector<Waiter> due(std::make_move_iterator(first_due), std::make_move_iterator(waiting_.end()));
  waiting_.erase(first_due, waiting_.end());
  next = Steady::max();
  for (const Waiter& waiter : waiting_) next = std::min(next, waiter.until);
  return due;
}

void Watch::run() noexcept {
  ::pthread_setname_np(::pthread_self(), "nrd-watch");
  std::unique_lock hold(lock_);
  for (;;) {
    has_changed_ = false;
    Steady next;
    // Read the status under the lock: add() has already answered waiters that arrived after its publication.
    const std::shared_ptr<const Status> status = views_.get();
    const std::vector<Waiter> due = take_due(status->revision, next);
    if (!due.empty()) {
      hold.unlock();
      for (const Waiter& waiter : due) waiter.done(status);
      hold.lock();
      continue;
    }
    if (stopping_) return;
    wake_.wait_until(hold, next, [this] { return stopping_ || has_changed_; });
  }
}

}  // namespace nrd::onload
