// /v1/cache: the node's caches in RMD's format, with actual values where RMD returns 0, and counts next to the masks.
//
// Names and types match RMD exactly: its clients reject a whole response if one number does not fit its type. nrd's own
// keys follow RMD's.
#pragma once

#include <string>
#include <string_view>

#include "api/routing/call.h"

namespace nrd {
struct NodeState;
namespace rdt {
struct Node;
}
}  // namespace nrd

namespace nrd::rmd {

// The level whose ways are allocated: "l3", or "l2" on a node without L3 CAT.
std::string_view level_name(const rdt::Node& node);

// Every cache of that level.
std::string render_cache_level(const NodeState& state);

void show_caches(const routing::Call& call, http::Reply reply);
void show_cache_level(const routing::Call& call, http::Reply reply);
void show_cache(const routing::Call& call, http::Reply reply);

}  // namespace nrd::rmd
