// Entity tags and conditional requests (RFC 9110, 8.8.3 and 13).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/message.h"

namespace nrd::routing {

// Of a representation without a revision of its own.
std::string etag_of(std::string_view text);
// The tags in If-Match or If-None-Match. nrd's own contain no comma, so splitting at commas finds them all.
std::vector<std::string_view> tags_in(std::string_view header);
// True if If-None-Match contains `etag`: the client's copy is current.
bool has_already(std::string_view if_none_match, std::string_view etag);

// Adds ETag and revision to `response`, or replaces it by a 304 if the client's copy is current.
http::Response with_etag(http::Response response, const std::string& etag, uint64_t revision,
                         std::string_view if_none_match);

}  // namespace nrd::routing
