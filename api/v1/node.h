// /v1/node: capabilities of the node, the partition of its caches, and the current owner of each way.
#pragma once

#include <string>

#include "api/http/message.h"
#include "api/routing/call.h"

namespace nrd {
struct NodeState;
}

namespace nrd::v1 {

void show_node(const routing::Call& call, http::Reply reply);

std::string render_node(const NodeState& state);

}  // namespace nrd::v1
