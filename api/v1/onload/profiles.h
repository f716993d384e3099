// /v1/onload/profiles and /v1/onload/render: Onload profiles and their rendered forms.
#pragma once

#include "api/routing/call.h"

namespace nrd::v1 {

void list_profiles(const routing::Call& call, http::Reply reply);
void show_profile(const routing::Call& call, http::Reply reply);
void put_profile(const routing::Call& call, http::Reply reply);
void delete_profile(const routing::Call& call, http::Reply reply);
void render_profiles(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
