// /v1/onload: the requested and actual state of Onload, and operations.
#pragma once

#include "api/v1/call.h"

namespace nrd::v1 {

void show_onload(const Call& call, http::Reply reply);
// 202 with the operation in Location, or 200 if nothing changed.
void put_onload(const Call& call, http::Reply reply);
// Like PUT of {"state": "unloaded"}.
void delete_onload(const Call& call, http::Reply reply);
void roll_back_onload(const Call& call, http::Reply reply);
void freeze_onload(const Call& call, http::Reply reply);
void list_onload_modules(const Call& call, http::Reply reply);
void list_onload_users(const Call& call, http::Reply reply);
void list_onload_generations(const Call& call, http::Reply reply);
void show_onload_generation(const Call& call, http::Reply reply);
void list_onload_operations(const Call& call, http::Reply reply);
void show_onload_operation(const Call& call, http::Reply reply);

void verify_onload(const Call& call, http::Reply reply);
void list_onload_stacks(const Call& call, http::Reply reply);
void list_onload_interfaces(const Call& call, http::Reply reply);
// {"enabled": true}
void accelerate_onload_interface(const Call& call, http::Reply reply);
// {"registered": true}
void register_onload_interface(const Call& call, http::Reply reply);

}  // namespace nrd::v1
