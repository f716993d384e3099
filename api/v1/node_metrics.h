// Metrics of what the node has and what each workload was granted, from published state.
//
// The number of label values is bounded: one series per workload, per cache, per pool of a cache, four per CPU pool,
// six of conflicts, and per CPU whose frequency a workload sets.
#pragma once

#include <string>
#include <vector>

#include "api/metrics/exposition.h"
#include "engine/model/fwd.h"

namespace nrd::v1 {

inline constexpr size_t kLongestLabel = 64;

// nrd_workload_info: which workload is which.
void add_workload_info(std::vector<metrics::Family>& families, const NodeState& state);
// Sizes of caches and ways, and the ways of each pool.
void add_sizes(std::vector<metrics::Family>& families, const NodeState& state);
// CPUs of each configured pool, by what has become of them.
void add_cpu_pools(std::vector<metrics::Family>& families, const NodeState& state);
// Other software that also decides about these CPUs, by its kind.
void add_cpu_conflicts(std::vector<metrics::Family>& families, const NodeState& state);
// Of CPUs whose frequency a workload sets.
void add_frequencies(std::vector<metrics::Family>& families, const NodeState& state);

}  // namespace nrd::v1
