// Schedules refreshes after CPU hotplug: at once, but at least kInterval apart, so that a burst of events, such as
// bringing a socket online CPU by CPU, costs a bounded share of the engine's time. Retries while the hardware differs
// from the setting, since files of a CPU may appear after its event; a limited number of times, since the drift check
// follows.
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
  static constexpr std::chrono::milliseconds kInterval{20};
  // After 20, 40, 80, 160, 320 and 640 ms.
  static constexpr unsigned kMaxRetries = 6;

  void note(const CpuSet& changed, Steady now) {
    if (changed.empty()) return;
    changed_ |= changed;
    has_news_ = true;
    next_ = std::max(now, last_ + kInterval);
  }
  // Nullopt: no refresh is scheduled.
  std::optional<Steady> next() const { return next_; }
  bool is_due(Steady now) const { return next_ && *next_ <= now; }
  // Refresh before planning a change.
  bool has_news() const { return has_news_; }
  // CPUs that changed since the hardware last matched the setting.
  const CpuSet& changed() const { return changed_; }

  void completed(bool is_right, Steady now) {
    last_ = now;
    retries_ = std::exchange(has_news_, false) ? 0 : retries_ + 1;
    if (is_right || retries_ == kMaxRetries) {
      next_.reset();
      changed_ = {};
    } else {
      next_ = now + kInterval * (1U << retries_);
    }
  }

 private:
  CpuSet changed_;
  bool has_news_ = false;
  unsigned retries_ = 0;
  Steady last_{};
  std::optional<Steady> next_;
};

}  // namespace nrd
