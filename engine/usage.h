// What the classes of workloads use of cache and memory bandwidth, at one moment. Pure.
//
// The kernel counts bytes of memory traffic for ever; a rate is what came to be between two samples. A counter that is
// lower than before wrapped, or its group was made anew: then there is no rate until the next sample.
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
  Time at;  // the same, for people
  std::optional<std::chrono::nanoseconds>
      since;  // the sample before; nullopt: there was none that rates can be told by
  std::map<ClosId, std::map<rdt::MonitoringDomain, CacheUsage>> classes;
};

// Where is counted what the class of `workload` uses: the L3 caches where it has ways, or that it touches if it asked
// for ways of L2 alone.
std::set<CacheId> counted_caches(const NodeState& state, const Workload& workload);

// The class has no bandwidth counters somewhere, because its monitoring was not requested before the sample.
bool is_unasked(const UsageSample& sample, ClosId clos);

// What is counted for the workloads of `state`: the classes they have.
std::map<ClosId, std::set<CacheId>> counted_classes(const NodeState& state);

// `last`: null if there was none, or it is so old that a rate would say nothing of now.
UsageSample next_sample(const UsageSample* last, const rdt::Usages& counted, UsageSample::Steady taken, Time at);

}  // namespace nrd
