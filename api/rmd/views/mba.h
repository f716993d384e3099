// GET /v1/mba: memory bandwidth allocation of the node, in RMD's format.
#pragma once

#include "api/routing/call.h"

namespace nrd::rmd {

void show_mba(const routing::Call& call, http::Reply reply);

}  // namespace nrd::rmd
