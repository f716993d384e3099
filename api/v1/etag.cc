#include "api/v1/etag.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/sha256.h"

namespace nrd::v1 {
namespace {

// nrd's tags contain no comma, so splitting at commas finds them all.
std::string_view next_tag(std::string_view& list) {
  const size_t comma = std::min(list.find(','), list.size());
  const std::string_view tag = trimmed(list.substr(0, comma));
  list.remove_prefix(std::min(comma + 1, list.size()));
  return tag;
}

// Removes `prefix` from the front of `text`; false if absent.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The revision in `tag`; nullopt if the tag is not one of workload `id`.
std::optional<uint64_t> revision_in(std::string_view tag, WorkloadId id) {
  if (!take(tag, "\"" + std::to_string(id.value) + "-")) return std::nullopt;
  uint64_t revision = 0;
  const auto [end, error] = std::from_chars(tag.data(), tag.data() + tag.size(), revision);
  if (error != std::errc()) return std::nullopt;
  tag.remove_prefix(static_cast<size_t>(end - tag.data()));
  return tag == "\"" || tag == "f\"" ? std::optional(revision) : std::nullopt;
}

}  // namespace

std::string etag_of(const NodeState& state, const Workload& workload) {
  return "\"" + std::to_string(workload.id.value) + "-" + std::to_string(workload.revision) +
         (is_applied(state, workload) ? "\"" : "f\"");
}

std::string etag_of(std::string_view text) { return "\"" + sha256_of(text) + "\""; }

bool has_already(std::string_view if_none_match, std::string_view etag) {
  while (!if_none_match.empty()) {
    std::string_view tag = next_tag(if_none_match);
    take(tag, "W/");  // compared weakly (RFC 9110, 13.1.2)
    if (tag == etag || tag == "*") return true;
  }
  return false;
}

IfRevision revisions_of(std::string_view if_match, WorkloadId id) {
  if (if_match.empty()) return std::nullopt;
  std::vector<uint64_t> revisions;
  while (!if_match.empty()) {
    const std::string_view tag = next_tag(if_match);
    if (tag == "*") return std::nullopt;
    if (const std::optional<uint64_t> revision = revision_in(tag, id)) revisions.push_back(*revision);
  }
  return revisions;
}

http::Response with_etag(http::Response response, const std::string& etag, uint64_t revision,
                         std::string_view if_none_match) {
  constexpr int kNotModified = 304;
  if (has_already(if_none_match, etag)) {
    response = {.status = kNotModified, .content_type = {}, .body = {}, .headers = {}};
  }
  response.headers.emplace_back("ETag", etag);
  response.headers.emplace_back("X-Nrd-Revision", std::to_string(revision));
  return response;
}

}  // namespace nrd::v1
