// Cache and memory bandwidth usage of the workloads' classes at one moment. Pure.
//
// The kernel counts bytes of memory traffic from the start of counting; a rate is the difference of two samples. A
// counter lower than before has wrapped, or its group was recreated: there is no rate until the next sample.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "engine/model/node_state.h"
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
};

// Where the class of `workload` is counted: the L3 caches of its ways, or of its CPUs if it requested L2 ways alone.
std::set<CacheId> counted_caches(const NodeState& state, const Workload& workload);

// True if the class lacks bandwidth counters somewhere because monitoring was not requested before the sample.
bool is_unrequested(const UsageSample& sample, ClosId clos);

// The classes of the workloads of `state`.
std::map<ClosId, std::set<CacheId>> counted_classes(const NodeState& state);

// `last`: null if there was none, or it is too old for a current rate.
UsageSample next_sample(const UsageSample* last, const rdt::Usages& counted, UsageSample::Steady taken, Time at);

}  // namespace nrd
