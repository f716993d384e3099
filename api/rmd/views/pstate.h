// GET /v1/pstate?view=rmd: the monitored CPUs in the format of RMD 0.2.
#pragma once

#include "api/routing/call.h"

namespace nrd::rmd {

// Without view=rmd the same as v1::list_pstates().
void list_pstates(const routing::Call& call, http::Reply reply);

}  // namespace nrd::rmd
