// /v1/node: what the node has, how its cache is divided, and who owns which way now.
#pragma once

#include <string>

#include "api/http/message.h"
#include "api/v1/call.h"

namespace nrd::v1 {

void show_node(const Call& call, http::Reply reply);

std::string render_node(const NodeState& state);

}  // namespace nrd::v1
