// GET /v1/mba: whether memory bandwidth can be allocated here, and in which steps. As RMD answers it.
#pragma once

#include "api/v1/call.h"

namespace nrd::v1 {

void show_mba(const Call& call, http::Reply reply);

}  // namespace nrd::v1
