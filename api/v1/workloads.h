// /v1/workloads: what clients ask for, and what they were granted.
//
// Reads take the published state and never wait; a long poll is handed to the watchers. Writes are submitted; the
// answer is sent from the engine's thread.
#pragma once

#include "api/http/message.h"
#include "api/v1/call.h"

namespace nrd::v1 {

void list_workloads(const Call& call, http::Reply reply);
void create_workload(const Call& call, http::Reply reply);
void show_workload(const Call& call, http::Reply reply);
void patch_workload(const Call& call, http::Reply reply);
void delete_workload(const Call& call, http::Reply reply);

}  // namespace nrd::v1
