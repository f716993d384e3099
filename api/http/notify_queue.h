// What other threads want to tell a event_loop. Posting wakes it up; after close() nothing is taken any more.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace nrd::http {

template <typename Item>
class NotifyQueue {
 public:
  NotifyQueue() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  // Readable while there may be letters.
  int fd() const { return event_.get(); }

  // Wakes the event_loop, unless it is the one who posts.
  void post(Item item, bool wakes) {
    const std::lock_guard hold(lock_);
    if (is_closed_) return;
    items_.push_back(std::move(item));
    if (wakes) notify();
  }

  void notify() const {
    const uint64_t one = 1;
    // It can fail only if the counter is full, and then the fd rings already.
    [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
  }

  // Before take(), so that a item which is posted in between rings again.
  void clear() const {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
  }

  std::vector<Item> take() {
    const std::lock_guard hold(lock_);
    return std::exchange(items_, {});
  }

  bool is_empty() {
    const std::lock_guard hold(lock_);
    return items_.empty();
  }

  void close() {
    std::vector<Item> unread;  // outlives the lock: what a item holds may want to post once more as it goes
    const std::lock_guard hold(lock_);
    is_closed_ = true;
    items_.swap(unread);
  }

 private:
  const UniqueFd event_;
  std::mutex lock_;
  std::vector<Item> items_;
  bool is_closed_ = false;
};

}  // namespace nrd::http
