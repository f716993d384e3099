// /v1/onload/profiles and /v1/onload/render: Onload profiles and their rendered forms.
#pragma once

#include "api/v1/call.h"

namespace nrd::v1 {

void list_profiles(const Call& call, http::Reply reply);
void show_profile(const Call& call, http::Reply reply);
void put_profile(const Call& call, http::Reply reply);
void delete_profile(const Call& call, http::Reply reply);
void render_profiles(const Call& call, http::Reply reply);

}  // namespace nrd::v1
