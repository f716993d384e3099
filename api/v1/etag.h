// ETags of workloads and conditional requests (RFC 9110, 8.8.3 and 13).
//
//   "7-3"      revision 3 of workload 7; ids are never reused, so the tag is unique
//   "7-3f"     the same while the hardware does not match the grant (status Failed)
//
// If-Match compares the revision only: "7-3f" and "7-3" are the same state of the workload.
#pragma once

#include <string>
#include <string_view>

#include "api/http/message.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {

std::string etag_of(const NodeState& state, const Workload& workload);
// Of a representation without a revision of its own.
std::string etag_of(std::string_view text);
// True if If-None-Match contains `etag`: the client's copy is current.
bool has_already(std::string_view if_none_match, std::string_view etag);
// The revisions of workload `id` in If-Match; nullopt (any) for "*" or without the header.
IfRevision revisions_of(std::string_view if_match, WorkloadId id);

// Adds ETag and revision to `response`, or replaces it by a 304 if the client's copy is current.
http::Response with_etag(http::Response response, const std::string& etag, uint64_t revision,
                         std::string_view if_none_match);

}  // namespace nrd::v1
