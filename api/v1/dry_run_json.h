// The response to ?dry_run=true: the grant and the hardware settings that would change.
//
//   {"workload": {...}, "changes": [{"knob": "COS2 ways on cache 0", "from": "7ff", "to": "30"}, ...]}
#pragma once

#include <string>

namespace nrd {
struct NodeState;
namespace plan {
struct DryRun;
}
}  // namespace nrd

namespace nrd::v1 {

std::string render_dry_run(const NodeState& state, const plan::DryRun& dry_run);

}  // namespace nrd::v1
