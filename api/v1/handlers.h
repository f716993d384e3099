// The handlers of the resources below /v1 and of /metrics, but for those of launch.h, config.h and RMD's views
// (api/rmd/views/handlers.h). Each resource has a file; the table of routes has the paths.
//
// Reads use the published state and never block; WorkloadPoll holds a long poll. Changes are submitted to the engine,
// which sends the response from its thread.
#pragma once

#include "api/routing/call.h"

namespace nrd::v1 {

// workloads.cc: requests of workloads and their grants.
void list_workloads(const routing::Call& call, http::Reply reply);
void create_workload(const routing::Call& call, http::Reply reply);
void show_workload(const routing::Call& call, http::Reply reply);
void patch_workload(const routing::Call& call, http::Reply reply);
void put_workload(const routing::Call& call, http::Reply reply);
void delete_workload(const routing::Call& call, http::Reply reply);

// operations.cc: moves of memory, which changes of workloads wait for.
void list_operations(const routing::Call& call, http::Reply reply);
void show_operation(const routing::Call& call, http::Reply reply);

// monitoring.cc: cache occupancy and memory bandwidth of a workload, by cache.
void show_monitoring(const routing::Call& call, http::Reply reply);

// policy.cc: the policies of this node's microarchitecture, in RMD's format.
void list_policies(const routing::Call& call, http::Reply reply);

// node.cc: capabilities of the node, the partition of its caches, and the current owner of each way.
void show_node(const routing::Call& call, http::Reply reply);

// cpus.cc: what the CPUs share, which pool and workload each belongs to, what the pools have left, what disturbs their
// CPUs, and which other software decides about them.
void show_cpus(const routing::Call& call, http::Reply reply);
void list_cpu_pools(const routing::Call& call, http::Reply reply);
void show_cpu_pool(const routing::Call& call, http::Reply reply);
void check_cpu_pool(const routing::Call& call, http::Reply reply);

// pstate.cc: frequency limits and current setting of each CPU, and the workload that set it.
void list_pstates(const routing::Call& call, http::Reply reply);
void show_pstate(const routing::Call& call, http::Reply reply);

// health.cc: whether the hardware matches all grants and the service accepts changes. 200 also if degraded; the body
// states the problem.
void show_health(const routing::Call& call, http::Reply reply);

// metrics.cc: metrics of nrd and the node in the Prometheus text format.
//
// A scrape reads published state, and /proc of nrd itself; it accesses neither hardware nor disk. docs/operations.md
// lists every name. The number of label values is bounded: routes, status codes, pools, caches and classes of the node,
// workloads, CPUs whose frequency a workload sets, and loaded versions.
void show_metrics(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
