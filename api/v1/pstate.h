// GET /v1/pstate and /v1/pstate/{cpu}: what each CPU's frequency can be, what it is set to, and for whom.
#pragma once

#include "api/v1/call.h"

namespace nrd::v1 {

void list_pstates(const Call& call, http::Reply reply);
void show_pstate(const Call& call, http::Reply reply);

}  // namespace nrd::v1
