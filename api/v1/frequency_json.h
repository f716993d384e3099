// The frequency of a workload as JSON: `pstate`, at top level or under `plugins`, and what was granted.
//
//   {"min_ratio": 22, "max_ratio": 30}                 multiples of the bus clock (100 MHz)
//   {"min_mhz": 2200, "governor": "performance"}       one bound pins both
//   {"turbo": false, "shared_domain": "allow"}
//   {"ratio": 3.0, "monitoring": "on"}                 RMD's: fast above that percentage of branch misses, slow below
#pragma once

#include <optional>
#include <string>

#include "api/json/value.h"
#include "api/json/writer.h"
#include "api/v1/json_validation.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

struct FrequencyFields {
  bool is_named = false;  // the body says something about it: a request, or null for none
  std::optional<FrequencyRequest> request;
};

// From either place, or from both if they say the same. An empty object says nothing.
Result<FrequencyFields> parse_frequency(const json::Value& body, Null null = Null::IsAbsent);

// RMD answers a POST with the ratio as it was written, 3.0 for 3.0: the literal; empty if there is none.
std::string ratio_literal(const json::Value& body);

// "pstate" and what was asked for.
void render_pstate(json::Writer& w, const FrequencyRequest& request, const std::string& ratio = {});
// Each writes its key, or nothing where there is nothing to say.
// `ratio`: the threshold as it shall be written; empty: as the number it is.
void render_plugins(json::Writer& w, const Workload& workload, const std::string& ratio = {});
void render_frequency(json::Writer& w, const Workload& workload, const std::string& ratio = {});
void render_granted_frequencies(json::Writer& w, const Workload& workload);

// As a JSON number: 3, 0.25.
std::string text_of(BranchMissThreshold threshold);

// {"min_khz": ..., "max_khz": ..., "min_ratio": ..., "max_ratio": ...}, without the braces.
void render_window(json::Writer& w, KHz min, KHz max);

}  // namespace nrd::v1
