// /v1/workloads/{id}/monitoring: what a workload uses of the cache and of memory bandwidth, by cache.
//
// The kernel counts for classes. A workload with ways of its own is alone in its class; those of the shared pool are
// one class together, and the answer says so. What the kernel does not tell is null.
#pragma once

#include <optional>
#include <string>

#include "api/http/message.h"
#include "api/v1/call.h"
#include "engine/usage.h"

namespace nrd::v1 {

// Of the class of `workload` on one cache; nullopt: not sampled since the workload has it. Rates only if both samples
// they are told by are the workload's.
std::optional<CacheUsage> usage_of(const UsageSample& sample, const Workload& workload,
                                   const rdt::MonitoringDomain& domain);
size_t workloads_in_class(const NodeState& state, ClosId clos);

// {"id": "1", "cos_name": "COS2", "workloads_in_class": 1, "sampled": "…", "interval_seconds": 1.000, "caches": […]}
std::string render_usage(const NodeState& state, const Workload& workload, const UsageSample& sample);

void show_monitoring(const Call& call, http::Reply reply);

}  // namespace nrd::v1
