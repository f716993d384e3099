// ETags of workloads, and requests that are made on condition (RFC 9110, 8.8.3 and 13).
//
//   "7-3"      the third revision of workload number 7; numbers are given once, so it is never said of another one
//   "7-3f"     the same while the hardware does not hold what it was granted (its status is Failed)
//
// For a change it is the revision that counts: who read "7-3f" knows what he changes.
#pragma once

#include <string>
#include <string_view>

#include "api/http/message.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {

std::string etag_of(const NodeState& state, const Workload& workload);
// If-None-Match names `etag`: the client has what would be answered.
bool has_already(std::string_view if_none_match, std::string_view etag);
// If-Match: the revisions it names of workload `id`. "*": whichever; without the header likewise.
IfRevision revisions_of(std::string_view if_match, WorkloadId id);

// `response` with ETag and revision, or a 304 in its place if the client has it already.
http::Response with_etag(http::Response response, const std::string& etag, uint64_t revision,
                         std::string_view if_none_match);

}  // namespace nrd::v1
