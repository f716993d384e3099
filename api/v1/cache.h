// /v1/cache: the node's caches as RMD shows them, with true values where RMD leaves 0, and numbers beside the masks.
//
// Names and types are RMD's to the letter: clients of it take a whole answer for broken if one number does not fit its
// type. What is ours stands after what is RMD's.
#pragma once

#include <string>
#include <string_view>

#include "api/v1/call.h"

namespace nrd::v1 {

// Every cache of the level that is served.
// "l3", or "l2" on a node whose ways are of that level.
std::string_view level_name(const rdt::Node& node);

std::string render_cache_level(const NodeState& state);

// "0-1"; empty: the kernel knows no NUMA nodes.
std::string numa_nodes_of(const rdt::Node& node, CacheId cache);

void show_caches(const Call& call, http::Reply reply);
void show_cache_level(const Call& call, http::Reply reply);
void show_cache(const Call& call, http::Reply reply);

}  // namespace nrd::v1
