// The body of a POST or PATCH of a workload, in both shapes that RMD's clients use (api/rmd/wire_shape.h).
//
// The parser is strict: it refuses an unknown key and suggests the closest known one. It accepts a key of
// RMD's that nrd does not support only if its value is empty ("", {}, [], 0, null).
#pragma once

#include <string>

#include "base/json/value.h"
#include "base/result.h"
#include "engine/model/fwd.h"

namespace nrd {
struct NewWorkload;
struct WorkloadPatch;
}  // namespace nrd

namespace nrd::v1 {

// Stops reading a CPU list at the first CPU above the highest possible one of the node.
Result<NewWorkload> parse_workload(const json::Value& body, const NodeState& state);
// The body of a PUT of the workload `id`. Ignores members as parse_workload_patch() does.
Result<NewWorkload> parse_replacement(const json::Value& body, const NodeState& state, const std::string& id);
// The members that the body has, for a change of `workload`. Ignores members that only nrd sets (id, uuid, status,
// pool,
// ...), and in its present answer the one of RMD's two shapes that was not edited, so that a client can edit an answer
// and send it back.
Result<WorkloadPatch> parse_workload_patch(const json::Value& body, const NodeState& state, const Workload& workload);
// Where the body requests CPUs of pools: in "cpu_request" if it is a response sent back, whose `cpu` is the grant.
std::string cpu_member_of(const json::Value& body);

}  // namespace nrd::v1
