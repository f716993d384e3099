// Cache occupancy and memory bandwidth of a workload, by cache.
//
// The kernel counts per class. A workload with its own ways has its own class; workloads of the shared pool share one,
// and the response states how many. Values that the kernel does not report are null.
#pragma once

#include <optional>
#include <string>

#include "engine/usage.h"

namespace nrd::v1 {

// Usage of the class of `workload` on one cache; nullopt if not sampled since the last update of the workload. Rates
// are set only if both samples were taken after it.
std::optional<CacheUsage> usage_of(const UsageSample& sample, const Workload& workload,
                                   const rdt::MonitoringDomain& domain);
size_t workloads_in_class(const NodeState& state, ClosId clos);

// {"id": "1", "cos_name": "COS2", "workloads_in_class": 1, "sampled": "…", "interval_seconds": 1.000, "caches": […]}
std::string usage_json(const NodeState& state, const Workload& workload, const UsageSample& sample);

}  // namespace nrd::v1
