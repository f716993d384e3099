// JSON of the node: capabilities, the partition of its caches, and the current owner of each way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/json/writer.h"

namespace nrd {
struct NodeState;
namespace rdt {
struct MbaInfo;
struct Node;
}  // namespace rdt
}  // namespace nrd

namespace nrd::v1 {

std::string node_json(const NodeState& state);

// "mba_request", the unit of requests, and "mba_unit", the unit of the kernel's values.
void write_unit(json::Writer& w, const rdt::MbaInfo& mba);
// Nullopt: the kernel does not report the size of the cache, or its ways cannot be set.
std::optional<uint64_t> way_bytes(const rdt::Node& node, CacheId cache);
// "0-1"; empty if the kernel reports no NUMA nodes.
std::string numa_nodes_of(const rdt::Node& node, CacheId cache);

}  // namespace nrd::v1
