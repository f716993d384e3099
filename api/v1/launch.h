// What the API serves of Onload: the one place of api/v1 that names it, besides the folder api/v1/onload, which
// implements these functions. For an nrd built without Onload, api/v1/onload/absent.cc does.
#pragma once

#include <string_view>
#include <vector>

#include "api/metrics/exposition.h"
#include "api/routing/call.h"
#include "api/routing/router.h"
#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/result.h"
#include "engine/launch.h"
#include "engine/model/fwd.h"

namespace nrd::v1 {

// The member of a workload:
//
//   {"core_ids": ["4"], "onload": {"profile": "latency", "env": {"EF_POLL_USEC": "100000"}}}
constexpr std::string_view kLaunchMember = "onload";

// nrd::Spec and nrd::SpecPatch: sources of api/v1/onload also use nrd::onload, which has its own.

// The member of `body`; null if it is absent. A JSON null removes Onload: `patch` says so then.
Result<LaunchRequest> parse_launch(const json::Value& body, nrd::SpecPatch& patch);

// {"profiles": [...], "env": {...}, "force": false, "generation": 3, "version": "9.0.2"}, and with a launch environment
// also "environment", "devices", "device_nodes", "mounts", "warnings". Writes nothing for a workload without Onload.
void write_launch(json::Writer& w, const nrd::Spec& spec, const Launch& launch);

// Routes below /v1/onload.
routing::RouteTable launch_routes();

void add_launch_metrics(std::vector<metrics::Family>& families, const routing::Call& call);

}  // namespace nrd::v1
