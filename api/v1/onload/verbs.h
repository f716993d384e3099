// Onload requests besides the complete spec: preflight, drain, cancel, and changes of single settings.
#pragma once

#include "api/routing/call.h"

namespace nrd::v1 {

// 200 whatever the checks find; changes nothing.
void preflight_onload(const routing::Call& call, http::Reply reply);
void drain_onload(const routing::Call& call, http::Reply reply);
void undrain_onload(const routing::Call& call, http::Reply reply);
void cancel_onload_operation(const routing::Call& call, http::Reply reply);
void show_onload_module(const routing::Call& call, http::Reply reply);
void patch_onload_parameters(const routing::Call& call, http::Reply reply);
void show_control_plane(const routing::Call& call, http::Reply reply);
void patch_control_plane(const routing::Call& call, http::Reply reply);
void restart_control_plane(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
