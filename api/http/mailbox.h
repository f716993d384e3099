// What other threads want to tell a worker. Posting wakes it up; after close() nothing is taken any more.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace nrd::http {

template <typename Letter>
class Mailbox {
 public:
  Mailbox() : bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  // Readable while there may be letters.
  int bell() const { return bell_.get(); }

  // Wakes the worker, unless it is the one who posts.
  void post(Letter letter, bool wakes) {
    const std::lock_guard hold(lock_);
    if (is_closed_) return;
    letters_.push_back(std::move(letter));
    if (wakes) ring();
  }

  void ring() const {
    const uint64_t one = 1;
    // It can fail only if the counter is full, and then the bell rings already.
    [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof one);
  }

  // Before take(), so that a letter which is posted in between rings again.
  void hush() const {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(bell_.get(), &count, sizeof count);
  }

  std::vector<Letter> take() {
    const std::lock_guard hold(lock_);
    return std::exchange(letters_, {});
  }

  bool is_empty() {
    const std::lock_guard hold(lock_);
    return letters_.empty();
  }

  void close() {
    std::vector<Letter> unread;  // outlives the lock: what a letter holds may want to post once more as it goes
    const std::lock_guard hold(lock_);
    is_closed_ = true;
    letters_.swap(unread);
  }

 private:
  const UniqueFd bell_;
  std::mutex lock_;
  std::vector<Letter> letters_;
  bool is_closed_ = false;
};

}  // namespace nrd::http
