// /v1/onload/allocations: launch environments for applications, and their holders.
#pragma once

#include "api/v1/call.h"

namespace nrd::v1 {

void list_allocations(const Call& call, http::Reply reply);
void create_allocation(const Call& call, http::Reply reply);
void delete_allocation(const Call& call, http::Reply reply);

}  // namespace nrd::v1
