// JSON of a workload in responses, in both shapes that RMD's clients use (api/rmd/wire_shape.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json/writer.h"
#include "engine/launch.h"
#include "engine/model/fwd.h"
#include "engine/model/workload.h"

namespace nrd {
struct Done;
}

namespace nrd::v1 {

struct JsonOptions {
  std::string ratio{};  // the branch-miss threshold as the client wrote it; empty: formatted from the number
  std::optional<uint64_t> operation{};  // that this change waits for, even if it has ended; nullopt: an open one
  bool is_dry_run = false;              // not applied to the hardware; a new workload has no id yet
  Launch launch{};                      // null: omitted
};
void to_json(json::Writer& w, const NodeState& state, const Workload& workload, const JsonOptions& options = {});
std::string workload_json(const NodeState& state, const Workload& workload, const JsonOptions& options = {});
// The response to ?dry_run=true: the grant and the hardware settings that would change.
//
//   {"workload": {...}, "changes": [{"knob": "COS2 ways on cache 0", "from": "7ff", "to": "30"}, ...]}
std::string dry_run_json(const Done& dry_run);
// The workloads that match; nullopt matches all.
struct Selection {
  std::optional<std::string> uuid{};
  std::optional<std::string> origin{};
  std::optional<std::string> name{};
  std::vector<std::pair<std::string, std::optional<std::string>>> labels{};  // all of them; nullopt: any value
  bool is_whole() const { return !uuid && !origin && !name && labels.empty(); }
  bool matches(const Workload& workload) const;
};
std::string selection_json(const NodeState& state, const Selection& selection);
std::string workloads_json(const NodeState& state);  // an array, in the order of ids

// {"mask": "600", "ways": 2}: the mask in hexadecimal as resctrl writes it; with CDP also the "code" and "data" masks.
void to_json(json::Writer& w, WayMask ways, const std::optional<rdt::Split>& split = {});
// "2026-07-01T12:00:00.000Z" (RFC 3339).
std::string timestamp(Time time);

}  // namespace nrd::v1
