// JSON of a workload, in both shapes that RMD's clients use:
//
//   {"core_ids": ["0", "1-3"], "cache": {"max": 2, "min": 2}}              RMD 0.2
//   {"core_ids": ["0", "1-3"], "rdt": {"cache": {"max": 2, "min": 2}}}     RMD 0.3
//
// The parser is strict: it refuses an unknown key and suggests the closest known one. It accepts a key of
// RMD's that nrd does not support only if its value is empty ("", {}, [], 0, null). Responses carry both shapes.
#pragma once

#include <optional>
#include <string>

#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"
#include "engine/onload/allocation.h"

namespace nrd::v1 {

// Parses the body of a POST. Stops reading a CPU list at the first CPU above `last`, the highest possible one.
constexpr CpuId kLastCpu{CpuSet::kMaxCpus - 1};
Result<Spec> parse_spec(const json::Value& body, CpuId last = kLastCpu);
// Parses the body of a PATCH: replaces the members it has and keeps the rest. Ignores members that only nrd sets (id,
// uuid, status, pool, ...), so that a client can edit a response and send it back.
Result<SpecPatch> parse_patch(const json::Value& body, CpuId last = kLastCpu);

struct RenderOptions {
  std::string ratio{};      // the branch-miss threshold as the client wrote it; empty: formatted from the number
  bool is_dry_run = false;  // not applied to the hardware; a new workload has no id yet
  const onload::LaunchEnvironment* launch = nullptr;  // launch environment for Onload; null: omitted
};
void render(json::Writer& w, const NodeState& state, const Workload& workload, const RenderOptions& options = {});
std::string render_workload(const NodeState& state, const Workload& workload, const RenderOptions& options = {});
// The workloads with this uuid and origin; nullopt matches all.
std::string render_chosen(const NodeState& state, const std::optional<std::string>& uuid,
                          const std::optional<std::string>& origin);
std::string render_workloads(const NodeState& state);  // an array, in the order of ids

// "COS2": the name of the resctrl directory.
std::string cos_name(ClosId clos);
// {"mask": "600", "ways": 2}: the mask in hexadecimal as resctrl writes it; with CDP also the "code" and "data" masks.
void render(json::Writer& w, WayMask ways, const std::optional<rdt::Split>& split = {});
// "2026-07-01T12:00:00.000Z" (RFC 3339).
std::string render(Time time);

}  // namespace nrd::v1
