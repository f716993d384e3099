#include "api/v1/workload_etag.h"

#include <fmt/core.h>

#include <charconv>

#include "api/routing/etag.h"
#include "base/sha256.h"
#include "engine/model/workload.h"

namespace nrd::v1 {
namespace {

constexpr size_t kHashDigits = 16;

// Removes `prefix` from the front of `text`; false if absent.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The revision in `tag`; nullopt if the tag is not one of workload `id`.
std::optional<uint64_t> revision_in(std::string_view tag, WorkloadId id) {
  if (!take(tag, fmt::format("\"{}-", id.value))) return std::nullopt;
  uint64_t revision = 0;
  const auto [end, error] = std::from_chars(tag.data(), tag.data() + tag.size(), revision);
  if (error != std::errc()) return std::nullopt;
  tag.remove_prefix(static_cast<size_t>(end - tag.data()));
  const bool is_whole = tag.size() == 1 + kHashDigits + 1 && tag.starts_with('-') && tag.ends_with('"');
  return is_whole ? std::optional(revision) : std::nullopt;
}

}  // namespace

std::string etag_of(const Workload& workload, std::string_view text) {
  return fmt::format("\"{}-{}-{}\"", workload.id.value, workload.revision, sha256_of(text).substr(0, kHashDigits));
}

std::optional<std::vector<uint64_t>> revisions_of(std::string_view if_match, WorkloadId id) {
  if (if_match.empty()) return std::nullopt;
  std::vector<uint64_t> revisions;
  for (const std::string_view tag : routing::tags_in(if_match)) {
    if (tag == "*") return std::nullopt;
    if (const std::optional<uint64_t> revision = revision_in(tag, id)) revisions.push_back(*revision);
  }
  return revisions;
}

}  // namespace nrd::v1
