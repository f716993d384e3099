// Schedules usage samples and keeps the requests that wait for one. The engine thread takes the samples; readers use
// the published one.
//
// Reading a counter makes the kernel interrupt a CPU of that cache, so nothing is sampled without requests. ask() gives
// a sample at most one interval old, and sampling continues for kLinger so that following requests get rates. last()
// returns the existing sample and triggers one for the next request.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/usage.h"

namespace nrd {

class Sampler {
 public:
  using Steady = UsageSample::Steady;
  using Done = std::function<void(Result<std::shared_ptr<const UsageSample>>)>;
  static constexpr std::chrono::seconds kLinger{10};  // at least two samples
  // Requests waiting at a time: more than there can be connections, since one sample answers all.
  static constexpr size_t kMost = 2048;

  // 0: nothing is sampled, and requests are refused.
  Sampler(const Clock& clock, std::chrono::milliseconds interval) : clock_(clock), interval_(interval) {}

  // Any thread.
  void set_interval(std::chrono::milliseconds interval);
  // Any thread. True if a sample is due now, which the caller must pass to the engine thread. `done` is called exactly
  // once: here, or by take() or end(); it must not block. `clos`: the class of the workload in question.
  bool ask(ClosId clos, Done done);
  // Any thread. Null: there is no sample yet. `is_due`: as above.
  std::shared_ptr<const UsageSample> last(bool& is_due);

  // The engine thread. nullopt: no sample is requested.
  std::optional<Steady> next() const;
  bool is_due() const {
    const std::optional<Steady> at = next();
    return at && *at <= clock_.steady();
  }
  // The classes among `counted` requested since the last sample; after last(), all of them.
  std::set<ClosId> asked(const std::map<ClosId, std::set<CacheId>>& counted);
  void take(const rdt::Usages& usages);
  // No more samples follow.
  void end();

 private:
  std::chrono::milliseconds linger() const {
    return std::max<std::chrono::milliseconds>(kLinger, 2 * interval_ + kLinger / 10);
  }
  std::optional<Steady> next_with_lock() const;

  const Clock& clock_;
  mutable std::mutex lock_;
  std::chrono::milliseconds interval_;  // this and the following are guarded by lock_
  std::shared_ptr<const UsageSample> last_;
  std::vector<Done> waiting_;
  std::set<ClosId> asked_;         // since asked()
  std::optional<Steady> until_;    // sampling continues until then
  bool sample_requested_ = false;  // by last()
  bool ended_ = false;
};

}  // namespace nrd
