// Entity tags of workloads.
//
//   "7-3-5a0f1c9e2b7d4468"    revision 3 of workload 7, and a hash of the answer: its status, its neighbours and an
//                             operation for it change without a new revision
//
// If-Match compares the revision only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace nrd {
struct Workload;
}  // namespace nrd

namespace nrd::v1 {

// `text`: the workload as GET shows it.
std::string etag_of(const Workload& workload, std::string_view text);
// The revisions of workload `id` in If-Match; nullopt (any) for "*" or without the header.
std::optional<std::vector<uint64_t>> revisions_of(std::string_view if_match, WorkloadId id);

}  // namespace nrd::v1
