// GET /v1/pstate and /v1/pstate/{cpu}: frequency limits and current setting of each CPU, and the workload that set it.
#pragma once

#include "api/routing/call.h"

namespace nrd::v1 {

void list_pstates(const routing::Call& call, http::Reply reply);
void show_pstate(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
