// Cache and memory bandwidth usage of the workloads' classes: samples of one moment, and when to take the next.
//
// The kernel counts bytes of memory traffic from the start of counting; a rate is the difference of two samples. A
// counter lower than before has wrapped, or its group was recreated: there is no rate until the next sample.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/model/fwd.h"
#include "engine/model/workloads.h"
#include "hw/rdt/types.h"

namespace nrd {

struct CacheUsage {
  rdt::Usage counted;
  std::optional<double> total_bytes_per_second;  // nullopt: not known (yet)
  std::optional<double> local_bytes_per_second;
  friend bool operator==(const CacheUsage&, const CacheUsage&) = default;
};

struct UsageSample {
  using Steady = std::chrono::steady_clock::time_point;
  Steady taken;
  Time at;                                        // the same as wall-clock time
  std::optional<std::chrono::nanoseconds> since;  // the previous sample; nullopt: none suitable for rates
  std::map<ClosId, std::map<rdt::MonitoringDomain, CacheUsage>> classes;
  Workloads workloads;         // whose classes these were
  Workloads workloads_before;  // at the previous sample
};

// Where the class of `workload` is counted: the L3 caches of its ways, or of its CPUs if it requested L2 ways alone,
// all if it has none of its own.
std::set<CacheId> counted_caches(const NodeState& state, const Workload& workload);

// True if the class lacks bandwidth counters somewhere because monitoring was not requested before the sample.
bool is_unrequested(const UsageSample& sample, ClosId clos);

// The classes of the workloads of `state`.
std::map<ClosId, std::set<CacheId>> counted_classes(const NodeState& state);

// `last`: null if there was none, or it is too old for a current rate.
UsageSample next_sample(const UsageSample* last, const rdt::Usages& counted, const Workloads& workloads,
                        UsageSample::Steady taken, Time at);

// Schedules usage samples and keeps the requests that wait for one. The engine thread takes the samples; readers use
// the published one.
//
// Reading a counter makes the kernel interrupt a CPU of that cache, so nothing is sampled without requests. ask() gives
// a sample at most one interval old, and sampling continues for kLinger so that following requests get rates. last()
// returns the existing sample and triggers one for the next request.
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
  void take(const rdt::Usages& usages, const Workloads& workloads);
  // No more samples follow.
  void end();

 private:
  std::chrono::milliseconds linger() const {
    return std::max<std::chrono::milliseconds>(kLinger, 2 * interval_ + kLinger / 10);
  }

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
