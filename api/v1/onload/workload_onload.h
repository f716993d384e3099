// Onload within a workload:
//
//   {"core_ids": ["4"], "onload": {"profile": "latency", "env": {"EF_POLL_USEC": "100000"}}}
//
// The allocations admit the workload before the engine runs, so that it is created completely or not at all.
#pragma once

#include <string_view>

#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/result.h"
#include "engine/model/workload.h"
#include "engine/onload/allocation.h"

namespace nrd::v1 {

// The member "onload"; null removes Onload.
Result<Change<onload::RenderRequest>> parse_onload(const json::Value& body);

// {"profiles": [...], "env": {...}, "force": false, "generation": 3, "version": "9.0.2"}, and with a launch environment
// also "environment", "devices", "device_nodes", "mounts", "warnings".
void render(json::Writer& w, const OnloadUse& use, const onload::LaunchEnvironment* launch);
// The members of the launch environment.
void render_launch(json::Writer& w, const onload::LaunchEnvironment& launch, std::string_view environment);

}  // namespace nrd::v1
