// GET /v1/policy: the policies of this node's microarchitecture, in RMD's format.
#pragma once

#include "api/routing/call.h"

namespace nrd::v1 {

void list_policies(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
