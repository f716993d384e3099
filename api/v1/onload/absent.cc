// The API of an nrd built without Onload (NRD_ONLOAD=OFF): no routes and no metrics of it.
#include "engine/onload/absent.h"

#include "api/v1/launch.h"

namespace nrd::v1 {

// A null asks for nothing, as a client may send it that removes Onload from every workload.
Result<LaunchRequest> parse_launch(const json::Value& body, SpecPatch& /*patch*/) {
  const json::Value* value = body.find(kLaunchMember);
  if (!value || value->is_null()) return LaunchRequest();
  return fail_at(ErrorCode::Unsupported, "/onload", onload::kAbsent, "no onload");
}

// No workload has it: nrd does not start with a store that holds one.
void write_launch(json::Writer& /*w*/, const Spec& /*spec*/, const Launch& /*launch*/) {}

routing::RouteTable launch_routes() { return {}; }

void add_launch_metrics(std::vector<metrics::Family>& /*families*/, const routing::Call& /*call*/) {}

}  // namespace nrd::v1
