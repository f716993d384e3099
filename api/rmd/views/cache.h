// JSON of the node's caches in RMD's format.
#pragma once

#include <string>
#include <string_view>

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
std::string cache_level_json(const NodeState& state);

}  // namespace nrd::rmd
