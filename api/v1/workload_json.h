// A workload on the wire, in both shapes that clients of RMD speak:
//
//   {"core_ids": ["0", "1-3"], "cache": {"max": 2, "min": 2}}              RMD 0.2
//   {"core_ids": ["0", "1-3"], "rdt": {"cache": {"max": 2, "min": 2}}}     RMD 0.3
//
// Read strictly: an unknown key is refused and the closest known one named; a key of RMD's that this version cannot
// honour is accepted while it says nothing ("", {}, [], 0, null) and refused otherwise. Answers carry both shapes.
#pragma once

#include <optional>
#include <string>

#include "api/json/value.h"
#include "api/json/writer.h"
#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"
#include "engine/onload/allocation.h"

namespace nrd::v1 {

// Where the client wrote it.
struct Shape {
  bool has_nested_cache = false;   // in `rdt`
  bool has_nested_pstate = false;  // in `plugins`
};

// Body of a POST. Lists of CPUs are not read beyond the first one after `last`, which cannot exist.
constexpr CpuId kLastCpu{CpuSet::kMaxCpus - 1};
Result<Spec> parse_spec(const json::Value& body, CpuId last = kLastCpu);
// Body of a PATCH: what it names is replaced, the rest stays. What only we set (id, uuid, status, pool, ...) is
// ignored, so that an answer may be edited and sent back.
Result<SpecPatch> parse_patch(const json::Value& body, CpuId last = kLastCpu);

Shape shape_of(const json::Value& body);
// The engine names fields as at top level; the client reads the pointer into what it sent.
Error pointing_into(Shape shape, Error error);

struct RenderOptions {
  std::string ratio{};      // the threshold of branch misses as the client wrote it; empty: as the number it is
  bool is_dry_run = false;  // by a dry run: nothing of it is there, and a new one has no number yet
  const onload::LaunchEnvironment* launch = nullptr;  // what it takes to start with Onload; null: is not told
};
void render(json::Writer& w, const NodeState& state, const Workload& workload, const RenderOptions& options = {});
std::string render_workload(const NodeState& state, const Workload& workload, const RenderOptions& options = {});
// The list, without those of another uuid or origin; nullopt: of any.
std::string render_chosen(const NodeState& state, const std::optional<std::string>& uuid,
                          const std::optional<std::string>& origin);
std::string render_workloads(const NodeState& state);  // an array, in the order of ids

// "COS2": the directory of the class.
std::string cos_name(ClosId clos);
// {"mask": "600", "ways": 2}: the mask in hexadecimal as resctrl writes it; of these ways "code" and "data" if they
// have some apart.
void render(json::Writer& w, WayMask ways, const std::optional<rdt::Split>& split = {});
// "2026-07-01T12:00:00.000Z" (RFC 3339).
std::string render(Time time);

}  // namespace nrd::v1
