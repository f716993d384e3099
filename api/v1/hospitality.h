// POST /v1/hospitality: a score per cache for one more workload. Read-only; POST for compatibility with RMD.
#pragma once

#include "api/routing/call.h"

namespace nrd::v1 {

void show_hospitality(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
