// GET /v1/operations and /v1/operations/{id}: moves of memory, which changes of workloads wait for.
#pragma once

#include "api/routing/call.h"

namespace nrd::v1 {

void list_operations(const routing::Call& call, http::Reply reply);
void show_operation(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
