// When usage is sampled, and who waits for it. The engine thread takes the samples; readers take what is published.
//
// Reading a counter makes the kernel interrupt a CPU of that cache, so nothing is sampled while nobody asks. Somebody
// who asks by ask() gets a sample not older than one interval, and sampling goes on for kLinger, so that his next
// questions have rates. Who asks by last() gets what there is, and one sample is taken for his next time.
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
  static constexpr std::chrono::seconds kLinger{10};  // and as long as two samples take
  // Who wait at a time: more than there can be connections, since one sample answers all.
  static constexpr size_t kMost = 2048;

  // 0: nothing is sampled, and whoever asks is told so.
  Sampler(const Clock& clock, std::chrono::milliseconds interval) : clock_(clock), interval_(interval) {}

  // Any thread. True if a sample is due now, which the engine thread must be told. `done` is called exactly once: here,
  // or by take() or end(); it must not block. `clos`: the class of the workload that is asked about.
  bool ask(ClosId clos, Done done);
  // Any thread. Null: none was taken yet. `is_due`: as above.
  std::shared_ptr<const UsageSample> last(bool& is_due);

  // The engine thread. nullopt: nobody asks.
  std::optional<Steady> next() const;
  bool is_due() const {
    const std::optional<Steady> at = next();
    return at && *at <= clock_.steady();
  }
  // Of `counted` classes those that were asked about since the last sample; by last(), all of them.
  std::set<ClosId> asked(const std::map<ClosId, std::set<CacheId>>& counted);
  void take(const rdt::Usages& usages);
  // There will be no more samples.
  void end();

 private:
  std::chrono::milliseconds linger() const {
    return std::max<std::chrono::milliseconds>(kLinger, 2 * interval_ + kLinger / 10);
  }
  std::optional<Steady> next_with_lock() const;

  const Clock& clock_;
  const std::chrono::milliseconds interval_;
  mutable std::mutex lock_;
  std::shared_ptr<const UsageSample> last_;  // guarded by lock_, as all that follows
  std::vector<Done> waiting_;
  std::set<ClosId> asked_;       // since asked()
  std::optional<Steady> until_;  // sampling goes on
  bool wants_one_ = false;       // for last()
  bool ended_ = false;
};

}  // namespace nrd
