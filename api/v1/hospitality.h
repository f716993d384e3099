// POST /v1/hospitality: how well each cache would receive one more workload. It changes nothing; it is a POST because
// RMD's is.
#pragma once

#include "api/v1/call.h"

namespace nrd::v1 {

void show_hospitality(const Call& call, http::Reply reply);

}  // namespace nrd::v1
