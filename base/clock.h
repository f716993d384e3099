// The time, passed in so that tests can control it.
#pragma once

#include <chrono>

namespace nrd {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::system_clock::time_point now() const = 0;     // wall clock, for timestamps
  virtual std::chrono::steady_clock::time_point steady() const = 0;  // for deadlines
};

class SystemClock final : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override { return std::chrono::system_clock::now(); }
  std::chrono::steady_clock::time_point steady() const override { return std::chrono::steady_clock::now(); }
};

using Time = std::chrono::sys_time<std::chrono::milliseconds>;  // as stored and shown, UTC

inline Time now(const Clock& clock) { return std::chrono::floor<std::chrono::milliseconds>(clock.now()); }

}  // namespace nrd
