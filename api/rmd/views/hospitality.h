// POST /v1/hospitality: a score per cache for one more workload. Read-only; POST for compatibility with RMD.
#pragma once

#include "api/routing/call.h"

namespace nrd::rmd {

void show_hospitality(const routing::Call& call, http::Reply reply);

}  // namespace nrd::rmd
