// /v1/onload: the requested and actual state of Onload, operations, versions, profiles and allocations.
#pragma once

#include "api/routing/call.h"

namespace nrd::v1 {

void show_onload(const routing::Call& call, http::Reply reply);
// 202 with the operation in Location, or 200 if nothing changed.
void put_onload(const routing::Call& call, http::Reply reply);
// Like PUT of {"state": "unloaded"}.
void delete_onload(const routing::Call& call, http::Reply reply);
void roll_back_onload(const routing::Call& call, http::Reply reply);
void freeze_onload(const routing::Call& call, http::Reply reply);
// 200 whatever the checks find; changes nothing.
void preflight_onload(const routing::Call& call, http::Reply reply);
void verify_onload(const routing::Call& call, http::Reply reply);
void drain_onload(const routing::Call& call, http::Reply reply);
void undrain_onload(const routing::Call& call, http::Reply reply);
void list_onload_users(const routing::Call& call, http::Reply reply);
void list_onload_stacks(const routing::Call& call, http::Reply reply);

void list_onload_generations(const routing::Call& call, http::Reply reply);
void show_onload_generation(const routing::Call& call, http::Reply reply);
void list_onload_operations(const routing::Call& call, http::Reply reply);
void show_onload_operation(const routing::Call& call, http::Reply reply);
void cancel_onload_operation(const routing::Call& call, http::Reply reply);

void list_onload_modules(const routing::Call& call, http::Reply reply);
void show_onload_module(const routing::Call& call, http::Reply reply);
void patch_onload_parameters(const routing::Call& call, http::Reply reply);
void show_control_plane(const routing::Call& call, http::Reply reply);
void patch_control_plane(const routing::Call& call, http::Reply reply);
void restart_control_plane(const routing::Call& call, http::Reply reply);

void list_onload_interfaces(const routing::Call& call, http::Reply reply);
// {"enabled": true}
void accelerate_onload_interface(const routing::Call& call, http::Reply reply);
// {"registered": true}
void register_onload_interface(const routing::Call& call, http::Reply reply);

void list_onload_versions(const routing::Call& call, http::Reply reply);
// Answers once it is installed, which takes seconds.
void import_onload_version(const routing::Call& call, http::Reply reply);
void delete_onload_version(const routing::Call& call, http::Reply reply);

void list_profiles(const routing::Call& call, http::Reply reply);
void show_profile(const routing::Call& call, http::Reply reply);
void put_profile(const routing::Call& call, http::Reply reply);
void delete_profile(const routing::Call& call, http::Reply reply);
void render_profiles(const routing::Call& call, http::Reply reply);

void list_allocations(const routing::Call& call, http::Reply reply);
void create_allocation(const routing::Call& call, http::Reply reply);
void delete_allocation(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
