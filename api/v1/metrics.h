// GET /metrics: what nrd and the node do, in the text format of Prometheus.
//
// A scrape reads what is published already and touches neither hardware nor disk. docs/operations.md lists every name.
// Values of labels are routes of the table, statuses, pools, caches and classes of the node, ids of workloads that have
// a class of their own, and versions of what is loaded: not more than the node has.
#pragma once

#include "api/http/message.h"
#include "api/v1/call.h"

namespace nrd::v1 {

void show_metrics(const Call& call, http::Reply reply);

}  // namespace nrd::v1
