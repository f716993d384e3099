// /v1/onload/allocations: launch environments for applications, and their holders.
#pragma once

#include "api/routing/call.h"

namespace nrd::v1 {

void list_allocations(const routing::Call& call, http::Reply reply);
void create_allocation(const routing::Call& call, http::Reply reply);
void delete_allocation(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
