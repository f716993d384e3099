// Entity tags of workloads.
//
//   "7-3"      revision 3 of workload 7; ids are never reused, so the tag is unique
//   "7-3f"     the same while the hardware does not match the grant (status Failed)
//
// If-Match compares the revision only: "7-3f" and "7-3" are the same state of the workload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace nrd {
struct NodeState;
struct Workload;
}  // namespace nrd

namespace nrd::v1 {

std::string etag_of(const NodeState& state, const Workload& workload);
// The revisions of workload `id` in If-Match; nullopt (any) for "*" or without the header.
std::optional<std::vector<uint64_t>> revisions_of(std::string_view if_match, WorkloadId id);

}  // namespace nrd::v1
