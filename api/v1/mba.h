// GET /v1/mba: whether memory bandwidth can be allocated here, and in which steps. As RMD answers it.
#pragma once

#include "api/json/writer.h"
#include "api/v1/call.h"
#include "hw/rdt/types.h"

namespace nrd::v1 {

// Ours: "mba_request", in what requests have to be, and "mba_unit", in what the kernel's numbers are.
void render_unit(json::Writer& w, const rdt::MbaInfo& mba);
void show_mba(const Call& call, http::Reply reply);

}  // namespace nrd::v1
