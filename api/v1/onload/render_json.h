// JSON of profiles and variables, as in render and allocation requests:
//
//   {"profiles": ["latency"], "env": {"EF_POLL_USEC": "0"}, "force": false}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"
#include "engine/onload/allocation.h"

namespace nrd::v1 {

constexpr size_t kMostProfiles = 32;  // in one request

// `keys`: keys allowed in addition to these three.
Result<onload::RenderRequest> parse_render(const json::Value& body, std::vector<std::string_view> keys);
// The member "format"; default "json".
Result<onload::Form> parse_form(const json::Value& body);

}  // namespace nrd::v1
