#include "api/v1/workload_etag.h"

#include <charconv>

#include "api/routing/etag.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/node_state.h"

namespace nrd::v1 {
namespace {

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
  if (tag.starts_with('f')) tag.remove_prefix(1);
  if (tag.starts_with('o')) tag.remove_prefix(1);
  return tag == "\"" ? std::optional(revision) : std::nullopt;
}

}  // namespace

std::string etag_of(const NodeState& state, const Workload& workload) {
  return "\"" + std::to_string(workload.id.value) + "-" + std::to_string(workload.revision) +
         (is_applied(state, workload) ? "" : "f") + (open_operation_of(state, workload) ? "o" : "") + "\"";
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
