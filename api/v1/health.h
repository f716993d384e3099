// /v1/health: whether the hardware matches all grants and the service accepts changes.
#pragma once

#include "api/http/message.h"
#include "api/routing/call.h"

namespace nrd::v1 {

// 200 also if degraded; the body states the problem.
void show_health(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
