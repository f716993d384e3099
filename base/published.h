// A published value: one thread replaces it, any thread reads it.
//
// A small lock and not std::atomic<std::shared_ptr>: that of g++ 12 is reported as a race by ThreadSanitizer. The lock
// is held for the copy of a pointer only.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace nrd {

template <typename T>
class Published {
 public:
  std::shared_ptr<const T> get() const {
    const std::lock_guard hold(lock_);
    return value_;
  }
  void set(std::shared_ptr<const T> value) {
    const std::lock_guard hold(lock_);
    value_.swap(value);  // the old one is destroyed after the lock is released
  }

 private:
  mutable std::mutex lock_;
  std::shared_ptr<const T> value_;
};

}  // namespace nrd
