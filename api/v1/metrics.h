// GET /metrics: metrics of nrd and the node in the Prometheus text format.
//
// A scrape reads published state, and /proc of nrd itself; it accesses neither hardware nor disk. docs/operations.md
// lists every name. The number of label values is bounded: routes, status codes, pools, caches and classes of the node,
// workloads, CPUs whose frequency a workload sets, and loaded versions.
#pragma once

#include "api/http/message.h"
#include "api/routing/call.h"

namespace nrd::v1 {

void show_metrics(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
