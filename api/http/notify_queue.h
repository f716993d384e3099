// A queue from other threads to an event loop. post() wakes the loop through an eventfd; after close() it drops items.
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

  // Readable while there may be items.
  int fd() const { return event_.get(); }

  // `wakes`: false if the event loop itself posts.
  void post(Item item, bool wakes) {
    const std::lock_guard hold(lock_);
    if (is_closed_) return;
    items_.push_back(std::move(item));
    if (wakes) notify();
  }

  void notify() const {
    const uint64_t one = 1;
    // Fails only if the counter is at its maximum, and then the fd is readable already.
    [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
  }

  // Call before take(), so that an item posted in between makes the fd readable again.
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
    std::vector<Item> unread;  // destroyed after the lock is released: destructors of items may post
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
