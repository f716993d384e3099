// When to look for CPUs that came or went: at once, but not twice within kApart, so that a burst of events, as when a
// socket is set online CPU by CPU, costs a bounded share of the engine's time. And again while the hardware is not as
// it should be, since files of a CPU may come later than its event; not for ever, since the drift interval looks as
// well.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/cpu_set.h"

namespace nrd {

class HotplugRefresh {
 public:
  using Steady = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kApart{20};
  // After 20, 40, 80, 160, 320 and 640 ms.
  static constexpr unsigned kAgain = 6;

  void note(const CpuSet& changed, Steady now) {
    if (changed.empty()) return;
    changed_ |= changed;
    has_news_ = true;
    next_ = std::max(now, last_ + kApart);
  }
  // Nullopt: nothing is to be looked for.
  std::optional<Steady> next() const { return next_; }
  bool is_due(Steady now) const { return next_ && *next_ <= now; }
  // A change must not be planned before the look.
  bool has_news() const { return has_news_; }
  // That came or went since the hardware was last as it should be.
  const CpuSet& changed() const { return changed_; }

  void looked(bool is_right, Steady now) {
    last_ = now;
    again_ = std::exchange(has_news_, false) ? 0 : again_ + 1;
    if (is_right || again_ == kAgain) {
      next_.reset();
      changed_ = {};
    } else {
      next_ = now + kApart * (1U << again_);
    }
  }

 private:
  CpuSet changed_;
  bool has_news_ = false;
  unsigned again_ = 0;
  Steady last_{};
  std::optional<Steady> next_;
};

}  // namespace nrd
