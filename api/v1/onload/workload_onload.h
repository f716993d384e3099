// Onload within a workload:
//
//   {"core_ids": ["4"], "onload": {"profile": "latency", "env": {"EF_POLL_USEC": "100000"}}}
//
// Admitted by the allocations before the engine is asked, so that such a workload is created as a whole or not at all.
#pragma once

#include <functional>
#include <optional>

#include "api/json/value.h"
#include "api/json/writer.h"
#include "api/v1/json_validation.h"
#include "base/result.h"
#include "engine/model/workload.h"
#include "engine/onload/allocations.h"

namespace nrd::v1 {

// The member "onload". Not named: `is_named` is false. null: on POST it says nothing, on PATCH it takes Onload away.
struct OnloadRequest {
  bool is_named = false;
  std::optional<onload::RenderRequest> request;
};
Result<OnloadRequest> parse_onload(const json::Value& body, Null null);

// An error of the allocations, pointing into the member.
Error within_onload(Error error);

// The same profiles and variables: nothing to be admitted anew.
bool is_same(const onload::RenderRequest& wish, const std::optional<store::OnloadUse>& use);

store::OnloadUse use_of(const onload::RenderRequest& wish, const onload::LaunchEnvironment& launch);

// {"profiles": [...], "env": {...}, "force": false, "generation": 3, "version": "9.0.2"}, and with an launch what it
// takes to start: "environment", "devices", "mounts", "warnings".
void render(json::Writer& w, const store::OnloadUse& use, const onload::LaunchEnvironment* launch);
// The members of the latter.
void render_launch(json::Writer& w, const onload::LaunchEnvironment& launch, std::string_view environment);

}  // namespace nrd::v1
