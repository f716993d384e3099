#include "api/routing/etag.h"

#include <algorithm>

#include "base/file.h"
#include "base/sha256.h"
#include "base/split.h"

namespace nrd::routing {

std::string etag_of(std::string_view text) { return "\"" + sha256_of(text) + "\""; }

std::vector<std::string_view> tags_in(std::string_view header) {
  std::vector<std::string_view> tags;
  while (!header.empty()) tags.push_back(trimmed(take_until(header, ',')));
  return tags;
}

bool has_already(std::string_view if_none_match, std::string_view etag) {
  return std::ranges::any_of(tags_in(if_none_match), [etag](std::string_view tag) {
    if (tag.starts_with("W/")) tag.remove_prefix(2);  // compared weakly (RFC 9110, 13.1.2)
    return tag == etag || tag == "*";
  });
}

http::Response with_etag(http::Response response, const std::string& etag, uint64_t revision,
                         std::string_view if_none_match) {
  constexpr int kNotModified = 304;
  if (has_already(if_none_match, etag)) {
    response = {.status = kNotModified};
  }
  response.headers.emplace_back("ETag", etag);
  response.headers.emplace_back("X-Nrd-Revision", std::to_string(revision));
  return response;
}

}  // namespace nrd::routing
