// The time, handed in, so that a test can turn it.
#pragma once

#include <chrono>

namespace nrd {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::system_clock::time_point now() const = 0;     // for people: timestamps
  virtual std::chrono::steady_clock::time_point steady() const = 0;  // for deadlines
};

class SystemClock final : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override { return std::chrono::system_clock::now(); }
  std::chrono::steady_clock::time_point steady() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace nrd
