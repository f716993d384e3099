// /v1/health: is what clients were promised true at this moment, and can they ask for more?
#pragma once

#include "api/http/message.h"
#include "api/v1/call.h"

namespace nrd::v1 {

// 200 also when degraded: the daemon answers, and the body says what is wrong.
void show_health(const Call& call, http::Reply reply);

}  // namespace nrd::v1
