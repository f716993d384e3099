// /v1/workloads: requests of workloads and their grants.
//
// Reads use the published state and never block; WorkloadPoll holds a long poll. Writes are submitted to the engine,
// which sends the response from its thread.
#pragma once

#include "api/http/message.h"
#include "api/routing/call.h"

namespace nrd::v1 {

void list_workloads(const routing::Call& call, http::Reply reply);
void create_workload(const routing::Call& call, http::Reply reply);
void show_workload(const routing::Call& call, http::Reply reply);
void patch_workload(const routing::Call& call, http::Reply reply);
void put_workload(const routing::Call& call, http::Reply reply);
void delete_workload(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
