// GET /v1/mba: memory bandwidth allocation of the node, in RMD's format.
#pragma once

#include "api/routing/call.h"
#include "base/json/writer.h"
#include "hw/rdt/types.h"

namespace nrd::v1 {

// nrd's own keys: "mba_request", the unit of requests, and "mba_unit", the unit of the kernel's values.
void render_unit(json::Writer& w, const rdt::MbaInfo& mba);
void show_mba(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
