// /v1/cpus: what the CPUs share, which pool and workload each belongs to, what the pools have left, what
// disturbs their CPUs, and which other software decides about them.
#pragma once

#include "api/http/message.h"
#include "api/routing/call.h"

namespace nrd::v1 {

void show_cpus(const routing::Call& call, http::Reply reply);
void list_cpu_pools(const routing::Call& call, http::Reply reply);
void show_cpu_pool(const routing::Call& call, http::Reply reply);
void check_cpu_pool(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
